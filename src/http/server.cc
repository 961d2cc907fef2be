#include "http/server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "http/listener.h"
#include "http/mhd_response.h"
#include "http/request_head.h"

namespace kalstream::http {
namespace {

using Clock = std::chrono::steady_clock;
using Held = std::shared_ptr<Exchange>;

constexpr std::size_t connection_memory = std::size_t{16} << 10;  // for headers, and to send from
constexpr std::size_t event_block = std::size_t{4} << 10;
constexpr int event_buffer = 64 << 10;  // of the system, for a client that may be slow

std::string client_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  const sockaddr* address = info->client_addr;
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, 64> text{};
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  return text.data();
}

}  // namespace

// ---- What libmicrohttpd calls, all in its thread.

/// A connection, and until when its client has time for what it does. All but the deadline belongs
/// to the thread of libmicrohttpd.
struct Server::Link {
  static constexpr Clock::time_point::rep none =
      Clock::time_point::max().time_since_epoch().count();

  int socket = -1;
  std::string client;
  std::atomic<Clock::time_point::rep> deadline{none};
  bool asks = true;                     // its request is not whole
  Exchange* arriving = nullptr;         // whose body is not whole
  const char* end_of_target = nullptr;  // in the head of a request as it was read

  void allow(std::chrono::seconds time) {
    deadline = (Clock::now() + time).time_since_epoch().count();
  }
  void wait_for_request(std::chrono::seconds time) {
    asks = true;
    arriving = nullptr;
    allow(time);
  }
  void has_asked() {
    asks = false;
    arriving = nullptr;
    deadline = none;
  }
};

struct Server::Calls {
  static Server& server(void* cls) { return *static_cast<Server*>(cls); }

  static Link* link_of(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == nullptr ? nullptr : static_cast<Link*>(info->socket_context);
  }

  static void notice(void* cls, MHD_Connection* connection, void** context,
                     MHD_ConnectionNotificationCode code) {
    Server& self = server(cls);
    const std::lock_guard lock(self.mutex_);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      auto* link = new Link;
      link->socket =
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
      link->client = client_of(connection);
      link->allow(self.options_.patience);
      self.links_.insert(link);
      *context = link;
      if (self.links_.size() >= self.options_.max_connections)
        let_one_go(self, *link, [](const Link& other) { return other.asks; });
    } else if (auto* link = static_cast<Link*>(*context); link != nullptr) {
      self.links_.erase(link);
      delete link;
      *context = nullptr;
    }
  }

  // The first of a request: its target as it was sent.
  static void* open(void* cls, const char* target, MHD_Connection* connection) {
    auto* held = new Held(std::make_shared<Exchange>());
    (*held)->connection_ = connection;
    ++server(cls).requests_;
    if (Link* link = link_of(connection)) link->end_of_target = target + std::strlen(target);
    if (!set_target((*held)->request_, target)) (*held)->request_.path.clear();
    return held;
  }

  static MHD_Result access(void* cls, MHD_Connection* connection, const char*, const char* method,
                           const char* version, const char* data, std::size_t* size, void** state) {
    if (*state == nullptr) return MHD_NO;
    Server& self = server(cls);
    const Held& held = *static_cast<Held*>(*state);
    Exchange& exchange = *held;
    if (!exchange.begun_) {
      exchange.begun_ = true;
      if (auto refusal = begin(self, connection, method, version, exchange))
        return send(self, connection, exchange, std::move(*refusal));
      return MHD_YES;
    }
    if (*size > 0) {
      take(self, exchange, link_of(connection), {data, *size});
      *size = 0;
      return MHD_YES;
    }
    if (!exchange.asked_) {
      exchange.asked_ = true;
      self.arriving_ -= exchange.counted_;
      self.bodies_ += exchange.counted_;
      if (Link* link = link_of(connection)) link->has_asked();
      if (exchange.refused_)
        exchange.answer(std::move(*exchange.refused_));
      else
        self.handler_(held);
    }
    return go_on(self, connection, held);
  }

  static Response too_large(const Server& self) {
    return error(413, "too_large",
                 fmt::format("the body has more than {} bytes; send it in parts, or start the "
                             "server with a larger --max-body",
                             self.options_.max_body));
  }

  static Response busy() {
    return error(503, "busy", "too much is waiting to be learnt already; send it again later");
  }

  static std::optional<Response> begin(Server& self, MHD_Connection* connection, const char* method,
                                       const char* version, Exchange& exchange) {
    Request& request = exchange.request_;
    request.method = std::string_view(method) == "HEAD" ? "GET" : method;
    Link* const link = link_of(connection);
    if (link == nullptr) return stopped();
    request.client = link->client;
    RequestHead head(request, version, link->end_of_target);
    head.read(connection);
    const auto* size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (size == nullptr) return stopped();
    if (const char* fault = head.fault(method + size->header_size)) {
      Response refusal =
          error(400, "bad_request", fmt::format("the request is not served: {}", fault));
      refusal.headers.emplace_back("Connection", "close");
      return refusal;
    }
    if (request.path.empty())
      return error(400, "bad_request", "the target of the request does not begin with a slash");
    if (auto refusal = self.guard_.refuse(request, Clock::now())) return refusal;
    if (self.stopping_) return error(503, "stopping", "the server is about to stop");
    if (head.length() > self.options_.max_body) return too_large(self);
    if (self.bodies_ + head.length() > self.options_.max_bodies) return busy();
    link->arriving = &exchange;
    link->allow(self.options_.patience);
    return {};
  }

  // Of a body that is refused the rest is passed over, so that the client can hear of it.
  static void take(Server& self, Exchange& exchange, const Link* link, std::string_view part) {
    if (exchange.refused_) return;
    if (exchange.counted_ + part.size() > self.options_.max_body)
      return refuse_body(self, exchange, too_large(self));
    const auto is_full = [&] {
      return self.bodies_ + self.arriving_ + part.size() > self.options_.max_bodies;
    };
    const auto is_in_the_way = [](const Link& other) {
      return other.arriving != nullptr && other.arriving->counted_ > 0;
    };
    while (is_full() && link != nullptr && let_one_go(self, *link, is_in_the_way)) {
    }
    if (is_full()) return refuse_body(self, exchange, busy());
    exchange.request_.body.append(part);
    exchange.counted_ += part.size();
    self.arriving_ += part.size();
  }

  static void refuse_body(Server& self, Exchange& exchange, Response why) {
    self.arriving_ -= std::exchange(exchange.counted_, 0);
    exchange.request_.body = {};
    exchange.refused_ = std::move(why);
  }

  // Of those who are in the way, whoever has had the longest time; false if nobody is.
  static bool let_one_go(Server& self, const Link& but, bool (*is_in_the_way)(const Link&)) {
    Link* oldest = nullptr;
    for (Link* link : self.links_)
      if (link != &but && is_in_the_way(*link) &&
          (oldest == nullptr || link->deadline < oldest->deadline))
        oldest = link;
    if (oldest == nullptr) return false;
    if (oldest->arriving != nullptr) refuse_body(self, *oldest->arriving, busy());
    oldest->has_asked();
    shutdown(oldest->socket, SHUT_RDWR);
    return true;
  }

  static Response stopped() {
    return error(503, "stopping", "the server has stopped before it could answer");
  }

  // Sends the answer, or waits for it.
  static MHD_Result go_on(Server& self, MHD_Connection* connection, const Held& held) {
    Exchange& exchange = *held;
    std::unique_lock lock(exchange.mutex_);
    if (exchange.events_) return send_events(self, connection, exchange);
    if (exchange.response_) {
      Response response = std::move(*exchange.response_);
      lock.unlock();
      return send(self, connection, exchange, std::move(response));
    }
    {
      const std::lock_guard all(self.mutex_);
      if (self.closed_) {
        lock.unlock();
        return send(self, connection, exchange, stopped());
      }
      self.suspended_.insert(held);
    }
    exchange.suspended_ = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
  }

  static MHD_Result send(Server& self, MHD_Connection* connection, Exchange& exchange,
                         Response response) {
    exchange.asked_ = true;
    if (Link* link = link_of(connection)) {
      link->has_asked();
      link->allow(self.options_.sending);
    }
    MHD_Response* made = make_mhd_response(response);
    if (made == nullptr) return MHD_NO;
    add_headers(made, response);
    const MHD_Result queued = MHD_queue_response(connection, response.status, made);
    MHD_destroy_response(made);
    return queued;
  }

  struct Events {
    Server& server;
    std::shared_ptr<EventStream> stream;
  };

  static void end_events(void* cls) {
    const std::unique_ptr<Events> events(static_cast<Events*>(cls));
    events->stream->detach();
    const std::lock_guard lock(events->server.mutex_);
    events->server.events_.erase(events->stream);
  }

  static MHD_Result send_events(Server& self, MHD_Connection* connection, Exchange& exchange) {
    if (Link* link = link_of(connection)) {
      setsockopt(link->socket, SOL_SOCKET, SO_SNDBUF, &event_buffer, sizeof(event_buffer));
    }
    --self.requests_;
    exchange.events_->attach(connection);
    {
      const std::lock_guard lock(self.mutex_);
      self.events_.insert(exchange.events_);
    }
    MHD_Response* made = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, event_block,
        [](void* events, std::uint64_t, char* to, std::size_t room) {
          return static_cast<Events*>(events)->stream->read(to, room);
        },
        new Events{self, exchange.events_}, &end_events);
    add_headers(made, {.content_type = "text/event-stream"});
    const MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, made);
    MHD_destroy_response(made);
    return queued;
  }

  static void close(void* cls, MHD_Connection* connection, void** state,
                    MHD_RequestTerminationCode) {
    Server& self = server(cls);
    auto* held = static_cast<Held*>(*state);
    if (held == nullptr) return;
    {
      Exchange& exchange = **held;
      const std::lock_guard lock(exchange.mutex_);
      exchange.connection_ = nullptr;
      (exchange.asked_ ? self.bodies_ : self.arriving_) -= exchange.counted_;
      if (!exchange.events_) --self.requests_;
    }
    {
      const std::lock_guard lock(self.mutex_);
      self.suspended_.erase(*held);
    }
    delete held;
    *state = nullptr;
    if (Link* link = link_of(connection)) link->wait_for_request(self.options_.patience);
  }

  static void be_silent(void*, const char*, va_list) {}
};

// ---- All of them.

Server::Server(ServerOptions options, Handler handler)
    : options_(std::move(options)), handler_(std::move(handler)), guard_(options_.guard) {
  if (!options_.certificate.empty() && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    throw std::runtime_error(
        "this kalstream was built without TLS: take the package of your system, or put a proxy "
        "that speaks TLS before it");
  listener_ = open_listener(options_.address, options_.port);
  port_ = port_of(listener_);
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  std::vector<MHD_OptionItem> more;
  const auto text = [](std::string& of) { return static_cast<void*>(of.data()); };
  if (!options_.certificate.empty()) {
    flags |= MHD_USE_TLS;
    more.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, text(options_.certificate)});
    more.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, text(options_.key)});
  }
  more.push_back({MHD_OPTION_END, 0, nullptr});

  // New threads inherit the mask: signals are for those who wait for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &Calls::access, this,        //
                             MHD_OPTION_EXTERNAL_LOGGER, &Calls::be_silent, nullptr,  //
                             MHD_OPTION_LISTEN_SOCKET, listener_,                     //
                             MHD_OPTION_CONNECTION_LIMIT, options_.max_connections,   //
                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,   //
                             MHD_OPTION_CONNECTION_TIMEOUT,
                             static_cast<unsigned>(options_.patience.count()),    //
                             MHD_OPTION_STRICT_FOR_CLIENT, 1,                     //
                             MHD_OPTION_URI_LOG_CALLBACK, &Calls::open, this,     //
                             MHD_OPTION_NOTIFY_CONNECTION, &Calls::notice, this,  //
                             MHD_OPTION_NOTIFY_COMPLETED, &Calls::close, this,    //
                             MHD_OPTION_ARRAY, more.data(), MHD_OPTION_END);
  if (daemon_ != nullptr) watch_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (daemon_ != nullptr) return;
  ::close(listener_);
  throw std::runtime_error(options_.certificate.empty()
                               ? "the HTTP server cannot be started; are there too many files open?"
                               : "the HTTP server cannot be started; are the certificate and the "
                                 "key in PEM, and do they belong together?");
}

Server::~Server() {
  stop({});
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  watch_.join();
  MHD_stop_daemon(daemon_);
  ::close(listener_);
}

void Server::stop(std::chrono::milliseconds most) {
  using namespace std::chrono_literals;
  stopping_ = true;
  const auto end = Clock::now() + most;
  while (requests_ > 0 && Clock::now() < end) std::this_thread::sleep_for(2ms);
  std::unordered_set<Held> left;
  std::unordered_set<std::shared_ptr<EventStream>> events;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    left = suspended_;
    events = events_;
  }
  for (const auto& stream : events) stream->finish();
  for (const Held& exchange : left) exchange->answer(Calls::stopped());
}

// Clients that send a byte now and then, or take one, are let go.
void Server::watch() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, 500ms, [this] { return ends_; })) {
    const auto now = Clock::now().time_since_epoch().count();
    for (Link* link : links_)
      if (link->deadline < now) shutdown(link->socket, SHUT_RDWR);
  }
}

}  // namespace kalstream::http
