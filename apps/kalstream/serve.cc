// kalstream serve: streams over HTTP, and a page to look at them.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "commands.h"
#include "core/memory_limit.h"
#include "http/listener.h"
#include "serve/door.h"
#include "serve/service.h"
#include "stream/checkpoints.h"
#include "stream/signals.h"
#include "stream_options.h"

namespace kalstream::cli {
namespace {

struct ServeArguments {
  http::ServerOptions server{.port = 8080};
  serve::ServiceOptions service;
  std::string token_file;
  std::string certificate;
  std::string key;
  std::string every = "30s";
  std::string memory;
  std::string max_body = "16MiB";
  std::size_t max_rate = 50'000;
  bool quiet = false;
};

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument(fmt::format("{}: cannot be read", path));
  return {std::istreambuf_iterator<char>(in), {}};
}

// The first line, which should not be guessed.
std::string token_in(const std::string& path) {
  constexpr std::size_t least = 16;
  std::string token = content_of(path);
  token.erase(std::min(token.find_first_of("\r\n"), token.size()));
  if (token.size() < least || token.find_first_of(" \t") != std::string::npos)
    throw std::invalid_argument(fmt::format(
        "--token-file {}: the first line has to be a token of at least {} characters without "
        "blanks, as 'openssl rand -hex 32' writes one",
        path, least));
  return token;
}

http::ServerOptions server_options(const ServeArguments& a) {
  http::ServerOptions options = a.server;
  options.guard.rate = static_cast<double>(a.max_rate);
  options.max_body = bytes_of(a.max_body);
  options.max_bodies = std::max(options.max_bodies, 4 * options.max_body);
  if (!a.token_file.empty()) options.guard.token = token_in(a.token_file);
  if (!http::is_loopback(options.address) && options.guard.token.empty())
    throw std::invalid_argument(fmt::format(
        "--address {} lets others in, who could read and change everything; give --token-file FILE "
        "('openssl rand -hex 32 > FILE'), or leave --address out",
        options.address));
  if (a.certificate.empty() != a.key.empty())
    throw std::invalid_argument("--tls-cert and --tls-key belong together");
  if (!a.certificate.empty()) {
    options.certificate = content_of(a.certificate);
    options.key = content_of(a.key);
  }
  return options;
}

serve::ServiceOptions service_options(const ServeArguments& a) {
  serve::ServiceOptions options = a.service;
  if (options.threads == 0) options.threads = std::max(2U, std::thread::hardware_concurrency());
  options.memory = a.memory.empty() ? memory_allowed() / 2 : bytes_of(a.memory);
  options.cadence = cadence_of(a.every);
  options.say = [quiet = a.quiet](const std::string& text) {
    if (!quiet) say_to_people(text);
  };
  return options;
}

/// Every stream and every connection has files open: as many as the system lets this process have.
void allow_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

void serve_streams(const ServeArguments& a) {
  using namespace std::chrono_literals;
  constexpr auto patience = 20s;  // with requests under way, at the end
  const http::ServerOptions options = server_options(a);
  engine_options(a.service.defaults, [](const std::string&) {});  // complains
  allow_open_files();
  Signals signals;
  serve::Service service(service_options(a));
  serve::Door door(options, service, &service);
  const bool six = options.address.find(':') != std::string::npos;
  fmt::print(stderr, "kalstream: serving at {}://{}:{}/\n",
             options.certificate.empty() ? "http" : "https",
             six ? "[" + options.address + "]" : options.address, door.port());
  while (!signals.stop()) {
    pollfd wake{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    poll(&wake, 1, -1);
    if (signals.take_hang_up()) service.ask_for_checkpoints();
  }
  door.close(patience);
  service.stop();
}

}  // namespace

void add_serve(CLI::App& app) {
  auto a = std::make_shared<ServeArguments>();
  a->service.threads = 0;
  CLI::App* cmd = app.add_subcommand(
      "serve", "Serve any number of streams over HTTP, with a page that shows what they do");
  cmd->add_option("--store", a->service.folder,
                  "Folder where the streams are kept; made if it is not there")
      ->required();
  cmd->add_option("--port", a->server.port, "Of HTTP; 0 takes a free one")->capture_default_str();
  cmd->add_option("--address", a->server.address,
                  "Numeric address to listen at; any but this machine's own needs --token-file")
      ->capture_default_str();
  cmd->add_option("--token-file", a->token_file,
                  "Every request needs the token in this file, as 'Authorization: Bearer TOKEN'")
      ->check(CLI::ExistingFile);
  cmd->add_option("--tls-cert", a->certificate, "Speak TLS, with this certificate (PEM)")
      ->check(CLI::ExistingFile);
  cmd->add_option("--tls-key", a->key, "Its key (PEM)")->check(CLI::ExistingFile);
  cmd->add_option("--host", a->server.guard.hosts,
                  "Names this machine may be called by, besides localhost and its addresses");
  cmd->add_option("--every", a->every,
                  "Between checkpoints of a stream: samples (5000) or time (30s, 5m, 2h)")
      ->capture_default_str();
  cmd->add_flag(
      "--sync", a->service.sync,
      "Wait for the disk before an answer, so that a loss of power loses nothing, either");
  cmd->add_option("--threads", a->service.threads,
                  "That learn (default: as many as there are processors)")
      ->check(whole_number(1, 256));
  cmd->add_option("--memory", a->memory,
                  "For all streams: 2GiB, 512MiB (default: half of what the machine or its control "
                  "group allows)");
  cmd->add_option("--max-body", a->max_body, "Of a request")->capture_default_str();
  cmd->add_option("--max-streams", a->service.max_streams, "There may be")
      ->check(whole_number(1, 1e5))
      ->capture_default_str();
  cmd->add_option("--max-models", a->service.max_models,
                  "Of one stream with keys, in memory; others wait on disk")
      ->check(whole_number(1, 1e9))
      ->capture_default_str();
  cmd->add_option("--max-rate", a->max_rate, "Requests a second of one client")
      ->check(whole_number(1, 1e9))
      ->capture_default_str();
  cmd->add_option("--max-connections", a->server.max_connections, "At a time")
      ->check(whole_number(1, 1e5))
      ->capture_default_str();
  cmd->add_option("--history", a->service.board.points,
                  "Points of each stream that the page can show")
      ->check(whole_number(16, 1e6))
      ->capture_default_str();
  cmd->add_flag("--quiet", a->quiet, "No warnings");
  add_stream_settings(*cmd, a->service.defaults);
  cmd->footer(
      "The options of stream are those of streams that their first sample makes; others are made\n"
      "with options of their own:\n"
      "  kalstream serve --store streams --learner rls --interval 0.9\n"
      "  curl http://127.0.0.1:8080/api/v1/streams/boiler/samples -H 'Content-Type: "
      "application/json' \\\n"
      "       -d '{\"temp\":21.5,\"load\":0.3,\"target\":7}'\n"
      "  curl -X PUT http://127.0.0.1:8080/api/v1/streams/plant -H 'Content-Type: "
      "application/json' \\\n"
      "       -d '{\"learner\":\"auto\",\"key\":\"device\",\"horizon\":24}'\n"
      "  curl http://127.0.0.1:8080/api/v1/streams/plant/samples -H 'Content-Type: text/csv' \\\n"
      "       --data-binary @plant.csv\n"
      "The page is at http://127.0.0.1:8080/, all there is at /openapi.json (docs/serve.md). What "
      "has been\n"
      "answered is on disk. SIGTERM and SIGINT answer what was asked, write checkpoints and end "
      "with code 0;\n"
      "SIGHUP writes checkpoints.\n");
  cmd->callback([a] { serve_streams(*a); });
}

}  // namespace kalstream::cli
