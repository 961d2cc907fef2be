#include "http/server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kalstream::http {
namespace {

using Clock = std::chrono::steady_clock;
using Held = std::shared_ptr<Exchange>;

constexpr std::size_t connection_memory = std::size_t{16} << 10;  // for headers, and to send from
constexpr std::size_t worth_no_copy = std::size_t{4} << 10;
constexpr std::size_t event_block = std::size_t{4} << 10;
constexpr int event_buffer = 64 << 10;  // of the system, for a client that may be slow

/// "Text/CSV; charset=utf-8" is "text/csv".
std::string media_type(std::string text) {
  text.erase(std::min(text.find(';'), text.size()));
  while (text.ends_with(' ')) text.pop_back();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

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

/// The headers of a request, as they come from libmicrohttpd.
///
/// Before its version 1.0 that takes every text to end at its first NUL, and passes over what is
/// behind. But it leaves the head of a request where it was read, with one NUL in the place of each
/// character between its parts: wherever there is something else between two of them, the client
/// has sent a NUL, or no proper end of a line.
class Head {
 public:
  Head(Request& request, const char* version, const char* end_of_target)
      : request_(request), framing_(version), at_(version + std::strlen(version)) {
    intact_ = !hides_nul() || end_of_target + 1 == version;
    end_line();
  }

  static MHD_Result see(void* head, MHD_ValueKind, const char* name, std::size_t name_size,
                        const char* value, std::size_t value_size) {
    static_cast<Head*>(head)->see({name, name_size}, {value, value_size});
    return MHD_YES;
  }

  /// After all of them, up to the end of the head; nullptr: nothing is wrong.
  const char* fault(const char* end) {
    end_line();
    intact_ = intact_ && (!hides_nul() || at_ == end);
    return intact_ ? framing_.fault()
                   : "its head has a NUL, or a line that does not end with CR and LF";
  }

  std::uint64_t length() const { return length_; }

 private:
  static bool hides_nul() {
    static const bool hides = std::string_view(MHD_get_version()).starts_with("0.");
    return hides;
  }

  void end_line() {
    intact_ = intact_ && (!hides_nul() || (at_[0] == '\0' && at_[1] == '\0'));
    at_ += 2;
  }

  void see(std::string_view name, std::string_view value) {
    framing_.see(name, value);
    if (hides_nul() && intact_) {
      intact_ = name.data() == at_;
      for (at_ = name.data() + name.size() + 1; at_ != value.data() && intact_; ++at_)
        intact_ = *at_ == ' ' || *at_ == '\t';
      at_ = value.data() + value.size();
      end_line();
    }
    if (same_name(name, MHD_HTTP_HEADER_CONTENT_LENGTH))
      std::from_chars(value.data(), value.data() + value.size(), length_);
    const std::initializer_list<std::pair<const char*, std::string*>> wanted = {
        {MHD_HTTP_HEADER_HOST, &request_.host},
        {MHD_HTTP_HEADER_ORIGIN, &request_.origin},
        {"Sec-Fetch-Site", &request_.fetch_site},
        {MHD_HTTP_HEADER_AUTHORIZATION, &request_.authorization},
        {MHD_HTTP_HEADER_CONTENT_TYPE, &request_.content_type}};
    for (const auto& [one, to] : wanted)
      if (to->empty() && same_name(name, one)) *to = value;
  }

  Request& request_;
  FramingCheck framing_;
  const char* at_;  // in the head as it was read
  bool intact_;
  std::uint64_t length_ = 0;
};

MHD_Response* response_of(Response& from) {
  using Shared = std::shared_ptr<const std::string>;
  if (!from.shared_body && from.body.size() < worth_no_copy)
    return MHD_create_response_from_buffer(from.body.size(), from.body.data(),
                                           MHD_RESPMEM_MUST_COPY);
  if (!from.shared_body)
    from.shared_body = std::make_shared<const std::string>(std::move(from.body));
  auto* text = new Shared(std::move(from.shared_body));
  const MHD_IoVec part{(*text)->data(), (*text)->size()};
  return MHD_create_response_from_iovec(
      &part, 1, [](void* sent) { delete static_cast<Shared*>(sent); }, text);
}

void add_headers(MHD_Response* to, const Response& from) {
  if (from.status != 204)
    MHD_add_response_header(to, MHD_HTTP_HEADER_CONTENT_TYPE, from.content_type.c_str());
  MHD_add_response_header(to, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(to, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(to, "Cross-Origin-Resource-Policy", "same-origin");
  for (const auto& [name, value] : from.headers)
    MHD_add_response_header(to, name.c_str(), value.c_str());
}

// ---- The socket that a server listens at.

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Found look_up(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw std::runtime_error(fmt::format(
        "'{}' is not a numeric address; 127.0.0.1 is this machine alone, 0.0.0.0 lets others in",
        address));
  return {found, freeaddrinfo};
}

int open_listener(const std::string& address, std::uint16_t port) {
  constexpr int waiting = 511;  // connections that nobody has accepted yet
  const Found where = look_up(address, port);
  int listener = -1;
  const auto refuse = [&](const char* advice) {
    const int why = errno;
    if (listener >= 0) close(listener);
    throw std::runtime_error(fmt::format("port {} at {} cannot be opened: {}; {}", port, address,
                                         std::strerror(why), advice));
  };
  listener = socket(where->ai_family, where->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    where->ai_protocol);
  if (listener < 0) refuse("the system has no socket to give");
  // A port that was in use a moment ago may be used again.
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener, where->ai_addr, where->ai_addrlen) != 0)
    refuse(errno == EACCES          ? "ports below 1024 need rights: choose one above"
           : errno == EADDRNOTAVAIL ? "choose an address of this machine"
                                    : "choose another port, or 0 for one that is free");
  if (listen(listener, waiting) != 0) refuse("choose another port, or 0 for one that is free");
  return listener;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, 16> service{};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, service.data(),
                  service.size(), NI_NUMERICSERV) != 0)
    return 0;
  return static_cast<std::uint16_t>(std::stoi(service.data()));
}

}  // namespace

bool is_loopback(const std::string& address) {
  const Found where = look_up(address, 0);
  if (where->ai_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, where->ai_addr, sizeof(four));
    return ntohl(four.sin_addr.s_addr) >> 24 == 127;
  }
  if (where->ai_family != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, where->ai_addr, sizeof(six));
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

// ---- One request.

void Exchange::answer(Response response) {
  const std::lock_guard lock(mutex_);
  if (response_ || events_) return;
  response_ = std::move(response);
  wake();
}

void Exchange::answer(std::shared_ptr<EventStream> events) {
  const std::lock_guard lock(mutex_);
  if (response_ || events_) return;
  events_ = std::move(events);
  wake();
}

std::optional<Response> Exchange::response() {
  const std::lock_guard lock(mutex_);
  return response_;
}

bool Exchange::is_answered() {
  const std::lock_guard lock(mutex_);
  return response_ || events_;
}

void Exchange::wake() {
  if (!suspended_ || connection_ == nullptr) return;
  suspended_ = false;
  MHD_resume_connection(connection_);
}

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
    Head head(request, version, link->end_of_target);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &Head::see, &head);
    request.content_type = media_type(std::move(request.content_type));
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
    MHD_Response* made = response_of(response);
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
