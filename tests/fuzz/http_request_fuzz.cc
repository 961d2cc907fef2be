// Requests to a service, one after the other: "METHOD TARGET TYPE HOST ORIGIN", then the body,
// until a line of three equals signs. Whatever they are, each is answered, and with JSON that is
// JSON. After a first line "RAW" there are the bytes of a connection: what two servers could take
// for different requests is not served.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <nlohmann/json.hpp>
#include <thread>

#include "fuzz.h"
#include "http/guard.h"
#include "http/server.h"
#include "http_visitor.h"
#include "serve/api.h"
#include "temporary_folder.h"

namespace {

using namespace kalstream;

/// Made once: threads take their time.
struct Served {
  Served()
      : service(options(folder.path)),
        events(service),
        threads(1),
        api(service, &service, events, threads) {}

  static serve::ServiceOptions options(const std::filesystem::path& folder) {
    serve::ServiceOptions o;
    o.folder = folder.string();
    o.defaults.learner = "ar";
    o.max_streams = 3;
    o.max_models = 5;
    o.memory = std::uint64_t{64} << 20;
    o.threads = 1;
    return o;
  }

  test::TemporaryFolder folder{test::in_memory()};
  serve::Service service;
  serve::Events events;
  serve::WorkThreads threads;
  serve::Api api;
};

std::string take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  std::string word(line.substr(0, end));
  line.remove_prefix(std::min(line.size(), end + 1));
  return word;
}

/// How many lines of the head begin with a name.
std::size_t lines_with(std::string head, std::string_view name) {
  std::ranges::transform(head, head.begin(), [](unsigned char c) { return std::tolower(c); });
  std::size_t n = 0;
  for (std::size_t at = 0; (at = head.find(name, at)) != std::string::npos; at += name.size()) ++n;
  return n;
}

void connect_with(std::string text) {
  static std::atomic<std::size_t> served;
  static http::Server server({}, [](const std::shared_ptr<http::Exchange>& exchange) {
    ++served;
    exchange->answer(http::Response{.body = exchange->request().body});
  });
  served = 0;
  text += "\r\n\r\nEND\r\n\r\n";  // of the last head, and then what is none: the server closes
  test::HttpVisitor visitor(server.port());
  visitor.say(text);
  visitor.finish();
  fuzz::require(visitor.is_closed());
  const std::string head = text.substr(0, text.find("\r\n\r\n"));
  const std::size_t lengths = lines_with(head, "\r\ncontent-length:");
  const std::size_t encodings = lines_with(head, "\r\ntransfer-encoding:");
  if (lengths + encodings > 1 || lines_with(head, "\r\nhost:") > 1 ||
      head.find('\0') != std::string::npos)
    fuzz::require(served == 0);
}

}  // namespace

KALSTREAM_FUZZ(http_request) {
  constexpr std::string_view raw = "RAW\n";
  if (fuzz::as_text(bytes).starts_with(raw))
    return connect_with(fuzz::as_text(bytes.subspan(raw.size())));
  static Served served;
  http::Guard guard({.hosts = {"known"}, .token = ""});
  const std::string text = fuzz::as_text(bytes);
  std::string_view rest = text;
  for (int k = 0; k < 8 && !rest.empty(); ++k) {
    constexpr std::string_view mark = "\n===\n";
    const std::size_t end = std::min(rest.find(mark), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + mark.size()));
    std::string_view line = one.substr(0, one.find('\n'));
    one.remove_prefix(std::min(one.size(), line.size() + 1));

    const auto exchange = std::make_shared<http::Exchange>();
    http::Request& request = exchange->request();
    request.method = take_word(line);
    if (!http::set_target(request, take_word(line))) continue;
    request.content_type = take_word(line);
    request.host = take_word(line);
    request.origin = take_word(line);
    request.body = one;
    if (auto refusal = guard.refuse(request, {}))
      exchange->answer(std::move(*refusal));
    else
      served.api.handle(exchange);
    while (!exchange->is_answered()) std::this_thread::yield();
    served.service.tick(true);
    served.events.tick(true);
    const auto response = exchange->response();
    if (!response) continue;
    fuzz::require(response->status >= 200 && response->status < 600);
    if (response->content_type == "application/json" && response->status != 204)
      fuzz::require(nlohmann::json::accept(response->body));
    for (const auto& [name, value] : response->headers)
      fuzz::require(value.find_first_of("\r\n") == std::string::npos);
  }
  for (const auto& board : served.service.boards()) {
    std::atomic<bool> done = false;
    try {
      served.service.remove(board->name(), [&](const serve::Refusal*) { done = true; });
    } catch (const serve::Refusal&) {
      done = true;
    }
    while (!done) std::this_thread::yield();
  }
}
