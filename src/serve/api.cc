#include "serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "core/envelope.h"
#include "monitor/status.h"
#include "page/live_page.h"
#include "serve/body_records.h"
#include "serve/json_text.h"
#include "serve/openapi.h"
#include "serve/stream_folder.h"

namespace kalstream::serve {
namespace {

using http::Request;
using http::Response;

/// There is nothing to show of a stream that could not be opened: that is said, and why.
void require_opened(const Board& board) {
  if (const std::string why = board.failure_to_open(); !why.empty())
    throw Refusal(503, "unavailable", "the stream cannot be used: " + why);
}

/// The answer when a stream has done what was asked: `response`, unless it refuses.
void answer(http::Exchange& exchange, const Refusal* refusal, Response response) {
  exchange.answer(refusal == nullptr
                      ? std::move(response)
                      : http::error(refusal->status, refusal->code, refusal->what()));
}

constexpr const char* no_more = "the stream could not be made, or was deleted meanwhile: ask again";

Response json(std::string body, unsigned status = 200) {
  body += '\n';
  return {.status = status, .body = std::move(body)};
}

Response described(const Board& board, unsigned status = 200) {
  return json(board.stream_json(Board::Detail::all), status);
}

Response text(std::string body, unsigned status = 200) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(body)};
}

std::string value(const Request& request, std::string_view name) {
  return std::string(request.value(name).value_or(""));
}

std::size_t number(const Request& request, const char* name, std::size_t otherwise,
                   std::size_t least, std::size_t most) {
  const auto said = request.value(name);
  if (!said) return otherwise;
  std::size_t n = 0;
  const char* const end = said->data() + said->size();
  const auto [stop, error] = std::from_chars(said->data(), end, n);
  if (error != std::errc() || stop != end || n < least || n > most)
    throw Refusal(400, "bad_value",
                  fmt::format("{}: write a whole number from {} to {}", name, least, most));
  return n;
}

/// A parameter that is true or false; nothing if it is missing or something else.
std::optional<bool> truth_of(const Request& request, std::string_view name) {
  const auto said = request.value(name);
  if (!said || (*said != "true" && *said != "false")) return {};
  return *said == "true";
}

/// Part k of the path; what a stream is called must be a name.
std::string stream_name(const Request& request) {
  constexpr std::size_t place = 3;  // /api/v1/streams/{name}
  const std::string& name = request.parts.at(place);
  if (!is_name(name))
    throw Refusal(400, "bad_name",
                  "a stream's name is 1 to 100 of the characters A-Z, a-z, 0-9, '.', '_' and '-', "
                  "and does not begin with '.'");
  return name;
}

/// Whose model is meant: a stream with keys has one for each, any other stream has one.
std::string model_key(const Request& request, const StreamSettings& settings) {
  const auto key = request.value("key");
  if (!key && !settings.fields.key.empty())
    throw Refusal(400, "no_key", "this stream has a model for each key: say whose with key=");
  if (key && settings.fields.key.empty())
    throw Refusal(400, "no_keys", "this stream has no keys, and one model: leave key= out");
  return std::string(key.value_or(""));
}

Input input_of(const Request& request) {
  const std::string& type = request.content_type;
  Input input{.at = milliseconds_now(), .body = request.body};
  if (type == "application/json") {
    input.kind = is_array(request.body) ? Input::Kind::array : Input::Kind::object;
    if (input.kind == Input::Kind::array) {
      auto elements = elements_of(request.body);
      if (!elements)
        throw Refusal(400, "bad_json",
                      "the list does not end where it should, or has nothing between commas; "
                      "nothing was learnt");
      input.elements = std::move(*elements);
    }
  } else if (type == "application/x-ndjson" || type == "application/jsonl" ||
             type == "application/jsonlines") {
    input.kind = Input::Kind::lines;
  } else if (type == "text/csv") {
    input.kind = Input::Kind::csv;
  } else {
    throw Refusal(
        415, "bad_type",
        "send Content-Type application/json, application/x-ndjson (JSON lines) or text/csv");
  }
  return input;
}

/// A stream is made by its first sample: there has to be one that can be read.
void require_sample(const std::string& name, const Input& input) {
  BodyRecords records(name);
  records.open(input, std::chrono::steady_clock::now());
  std::vector<Arrival> arrivals;
  std::string problem = "there is no sample in it";
  for (std::size_t line = 1; records.next(arrivals, 1, {}, nullptr) != Source::Event::end; ++line) {
    if (!arrivals.front().is_problem) return;
    if (line == 1) problem = arrivals.front().problem;
  }
  throw Refusal(422, "bad_samples", problem + "; no stream was made");
}

const char* answer_type(Input::Kind kind) {
  if (kind == Input::Kind::lines) return "application/x-ndjson";
  return kind == Input::Kind::csv ? "text/csv; charset=utf-8" : "application/json";
}

/// Of all answers to the input, before any is made.
void require_room_for_answers(const Input& input, const StreamSettings& settings,
                              std::size_t targets) {
  constexpr std::size_t most = std::size_t{256} << 20;
  constexpr std::size_t of_a_number = 24;
  const std::size_t numbers =
      settings.interval.widest > 0 ? 3 + 2 * settings.interval.inner.size() : 1;
  const std::size_t each =
      150 + of_a_number * numbers * std::max<std::size_t>(1, targets) * (settings.horizon + 1) +
      30 * settings.horizon;
  if (most_samples(input) > most / each)
    throw Refusal(
        413, "too_many_answers",
        fmt::format("the answers would take more than {} MiB; send it in parts", most >> 20));
}

/// One value, or a list where there are several targets.
void append_each(std::string& to, std::size_t n, const auto& one) {
  n == 1 ? one(0) : append_list(to, n, one);
}

std::string forecast_json(const Foresight& said, std::size_t outputs,
                          const std::vector<double>& inner) {
  std::string to = "{";
  const auto append_bounds = [&](std::span<const Interval> bounds) {
    if (bounds.empty())
      to += "null";
    else
      append_each(to, outputs, [&](std::size_t k) {
        append_value(to, std::vector{bounds[k].low, bounds[k].high});
      });
  };
  append_name(to, "forecast");
  append_list(to, said.value.size() / outputs, [&](std::size_t lead) {
    to += '{';
    append_field(to, "lead", lead + 1);
    append_name(to, "time");
    append_time(to, lead < said.time.size() ? said.time[lead] : "", said.time_is_text);
    append_name(to, "value");
    append_each(to, outputs,
                [&](std::size_t k) { append_value(to, said.value[lead * outputs + k]); });
    append_name(to, "interval");
    const std::span<const Interval> bounds(said.interval);
    append_bounds(bounds.empty() ? bounds : bounds.subspan(lead * outputs, outputs));
    for (std::size_t i = 0; i < inner.size(); ++i) {
      append_name(to, "interval_" + json_of(inner[i]));
      const std::span<const Interval> narrower(said.inner);
      append_bounds(narrower.empty()
                        ? narrower
                        : narrower.subspan((lead * inner.size() + i) * outputs, outputs));
    }
    to += '}';
  });
  return to + '}';
}

ServedStream::Done answer_with(const std::shared_ptr<http::Exchange>& exchange, Response response) {
  return [exchange, response = std::move(response)](const Refusal* refusal) {
    answer(*exchange, refusal, response);
  };
}

bool matches(const Request& request, std::string_view path) {
  for (const std::string& part : request.parts) {
    if (!path.starts_with('/')) return false;
    path.remove_prefix(1);
    const std::string_view one = path.substr(0, path.find('/'));
    if (one != part && !one.starts_with('{')) return false;
    path.remove_prefix(one.size());
  }
  return path.empty();
}

}  // namespace

Api::Api(const Boards& boards, Service* service, Events& events, WorkThreads& threads)
    : boards_(boards),
      service_(service),
      events_(events),
      readers_(std::make_shared<Strand>(threads)) {}

const std::vector<Api::Route>& Api::table() {
  static const std::vector<Route> routes = {
      {"GET", "/", &Api::page},
      {"GET", "/healthz", [](Api&, const Exchange& exchange) { exchange->answer(text("ok\n")); }},
      {"GET", "/readyz",
       [](Api& api, const Exchange& exchange) {
         const bool ready = api.service_ == nullptr || api.service_->is_ready();
         exchange->answer(ready ? text("ready\n") : text("streams are being opened\n", 503));
       }},
      {"GET", "/metrics", &Api::metrics},
      {"GET", "/openapi.json",
       [](Api&, const Exchange& exchange) {
         exchange->answer({.body = std::string(openapi_json())});
       }},
      {"GET", "/api/v1/streams",
       [](Api& api, const Exchange& exchange) {
         const std::size_t limit = number(exchange->request(), "limit", 1000, 1, 10'000);
         api.later(exchange, [&boards = api.boards_, after = value(exchange->request(), "after"),
                              limit] { return json(boards.streams_json(after, limit)); });
       }},
      {"GET", "/api/v1/streams/{name}",
       [](Api& api, const Exchange& exchange) {
         exchange->answer(described(*api.board_of(exchange)));
       }},
      {"PUT", "/api/v1/streams/{name}", &Api::make, true},
      {"DELETE", "/api/v1/streams/{name}",
       [](Api& api, const Exchange& exchange) {
         api.service_->remove(stream_name(exchange->request()),
                              answer_with(exchange, {.status = 204}));
       },
       true},
      {"POST", "/api/v1/streams/{name}/reset",
       [](Api& api, const Exchange& exchange) {
         const auto stream = api.stream_of(exchange);
         stream->reset([exchange, stream](const Refusal* refusal) {
           answer(*exchange, refusal, described(stream->board()));
         });
       },
       true},
      {"POST", "/api/v1/streams/{name}/samples", &Api::samples, true},
      {"POST", "/api/v1/streams/{name}/forecast", &Api::forecast, true},
      {"GET", "/api/v1/streams/{name}/snapshot", &Api::snapshot, true},
      {"PUT", "/api/v1/streams/{name}/snapshot", &Api::put_snapshot, true},
      {"GET", "/api/v1/streams/{name}/models", &Api::models},
      {"DELETE", "/api/v1/streams/{name}/models", &Api::forget_model, true},
      {"GET", "/api/v1/streams/{name}/alarms", &Api::alarms},
      {"POST", "/api/v1/streams/{name}/alarms", &Api::judge_alarm, true},
      {"GET", "/api/v1/streams/{name}/history", &Api::history},
      {"GET", "/api/v1/events", &Api::listen},
  };
  return routes;
}

std::vector<std::string> Api::routes() {
  std::vector<std::string> all;
  for (const Route& route : table()) all.push_back(fmt::format("{} {}", route.method, route.path));
  return all;
}

void Api::handle(const Exchange& exchange) {
  const Request& request = exchange->request();
  std::string others;
  for (const Route& route : table()) {
    if (!matches(request, route.path)) continue;
    if (route.changes && service_ == nullptr) {
      others = "GET";
      continue;
    }
    if (request.method != route.method) {
      others += (others.empty() ? "" : ", ") + std::string(route.method);
      continue;
    }
    try {
      route.handler(*this, exchange);
    } catch (const Refusal& refusal) {
      answer(*exchange, &refusal, {});
    } catch (const std::invalid_argument& error) {
      exchange->answer(http::error(422, "bad_options", error.what()));
    } catch (const std::exception& error) {
      exchange->answer(http::error(500, "failed", error.what()));
    }
    return;
  }
  if (others.empty()) {
    exchange->answer(http::error(
        404, "not_found", "there is nothing of this name; /openapi.json lists all there is"));
    return;
  }
  Response response = http::error(
      405, "not_allowed",
      service_ == nullptr && request.method != "GET"
          ? "this stream can only be looked at: its samples come from elsewhere"
          : fmt::format("{} is not possible here; possible: {}", request.method, others));
  response.headers.emplace_back("Allow", others);
  exchange->answer(std::move(response));
}

// ---- What they have in common.

std::shared_ptr<const Board> Api::board_of(const Exchange& exchange) const {
  auto board = boards_.board(stream_name(exchange->request()));
  if (!board) throw Refusal(404, "not_found", "there is no stream of this name");
  return board;
}

Service::Stream Api::stream_of(const Exchange& exchange) const {
  auto stream = service_->find(stream_name(exchange->request()));
  if (!stream) throw Refusal(404, "not_found", "there is no stream of this name");
  return stream;
}

View Api::view_of(const Exchange& exchange, const Board& board) const {
  const Request& request = exchange->request();
  View view;
  if (const auto key = request.value("key")) view.key = std::string(*key);
  const auto target = board.target(value(request, "target"));
  if (!target) throw Refusal(404, "no_target", "the stream has no target of this name");
  view.target = *target;
  return view;
}

void Api::later(const Exchange& exchange, std::function<Response()> make) {
  readers_->post([exchange, make = std::move(make)](Strand::Clock::time_point) {
    try {
      exchange->answer(make());
    } catch (const std::exception& error) {
      exchange->answer(http::error(500, "failed", error.what()));
    }
    return true;
  });
}

// ---- The server.

void Api::page(const Exchange& exchange) {
  const LivePage page = live_page();
  if (page.html.empty()) {
    exchange->answer(
        text("kalstream: the page was left out of this build, which had no npm; the API is at "
             "/api/v1/streams, described at /openapi.json\n"));
    return;
  }
  static const auto html = std::make_shared<const std::string>(page.html);
  Response response{.content_type = "text/html; charset=utf-8", .shared_body = html};
  response.headers = {{"Content-Security-Policy", std::string(page.policy)},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"}};
  exchange->answer(std::move(response));
}

void Api::metrics(const Exchange& exchange) {
  later(exchange, [this] {
    std::vector<std::pair<std::string, StreamStatus>> all;
    for (const auto& board : boards_.boards()) all.push_back({board->name(), board->status()});
    return Response{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = prometheus_text_of_all(all)};
  });
}

// ---- Streams.

void Api::make(const Exchange& exchange) {
  const Request& request = exchange->request();
  const std::string name = stream_name(request);
  if (!request.body.empty() && request.content_type != "application/json")
    throw Refusal(415, "bad_type", "send the options as JSON, with Content-Type application/json");
  StreamSettings settings = settings_from_json(request.body.empty() ? "{}" : request.body);
  const bool is_new = service_->find(name) == nullptr;
  service_->make(name, std::move(settings), [this, exchange, name, is_new](const Refusal* refusal) {
    const auto board = boards_.board(name);
    answer(*exchange, refusal,
           board ? described(*board, is_new ? 201 : 200) : http::error(404, "not_found", no_more));
  });
}

void Api::samples(const Exchange& exchange) {
  const Request& request = exchange->request();
  const std::string name = stream_name(request);
  const Input input = input_of(request);
  if (value(request, "create") != "false" && !service_->find(name)) require_sample(name, input);
  const auto stream =
      value(request, "create") == "false" ? stream_of(exchange) : service_->find_or_make(name);
  if (!stream) throw Refusal(404, "not_found", no_more);
  require_room_for_answers(input, stream->settings(),
                           stream->settings().horizon == 0 ? 1 : stream->board().targets().size());
  stream->take(
      input, exchange, [exchange, kind = input.kind](std::string answers, const Refusal* refusal) {
        answer(*exchange, refusal, {.content_type = answer_type(kind), .body = std::move(answers)});
      });
}

// ---- Models.

void Api::forecast(const Exchange& exchange) {
  const Request& request = exchange->request();
  const auto stream = stream_of(exchange);
  std::optional<Input> inputs;
  if (!request.body.empty()) inputs = input_of(request);
  const std::size_t of_stream = stream->settings().horizon;
  std::size_t otherwise = of_stream > 0 ? of_stream : 1;
  if (of_stream == 0 && inputs)
    otherwise = std::min(most_samples(*inputs), ModelOptions::longest_horizon);
  const std::size_t horizon =
      number(request, "horizon", otherwise, 1, ModelOptions::longest_horizon);
  stream->foresee(model_key(request, stream->settings()), horizon, inputs, exchange,
                  [exchange, inner = stream->settings().interval.inner](
                      const Foresight& said, std::size_t outputs, const Refusal* refusal) {
                    answer(*exchange, refusal, json(forecast_json(said, outputs, inner)));
                  });
}

void Api::snapshot(const Exchange& exchange) {
  const auto stream = stream_of(exchange);
  stream->snapshot(
      model_key(exchange->request(), stream->settings()),
      [exchange](std::optional<Bytes> bytes, const Refusal* refusal) {
        answer(*exchange, refusal,
               {.content_type = "application/octet-stream",
                .body = std::string(as_text(bytes.value_or(Bytes()))),
                .headers = {{"Content-Disposition", "attachment; filename=\"model.kal\""}}});
      });
}

void Api::put_snapshot(const Exchange& exchange) {
  if (exchange->request().content_type != "application/octet-stream")
    throw Refusal(415, "bad_type", "send the snapshot as Content-Type application/octet-stream");
  const auto stream = stream_of(exchange);
  stream->put_model(model_key(exchange->request(), stream->settings()),
                    std::move(exchange->request().body), answer_with(exchange, {.status = 204}));
}

void Api::forget_model(const Exchange& exchange) {
  const auto stream = stream_of(exchange);
  stream->forget_model(model_key(exchange->request(), stream->settings()),
                       answer_with(exchange, {.status = 204}));
}

void Api::models(const Exchange& exchange) {
  const Request& request = exchange->request();
  ModelQuery query;
  query.search = value(request, "search");
  if (const auto sort = request.value("sort")) query.sort = std::string(*sort);
  constexpr std::array sorts{"key", "error", "surprise", "age", "samples"};
  if (std::ranges::find(sorts, query.sort) == sorts.end())
    throw Refusal(400, "bad_value", "sort: write key, error, surprise, age or samples");
  const std::string order = value(request, "order");
  if (!order.empty() && order != "asc" && order != "desc")
    throw Refusal(400, "bad_value", "order: write asc or desc");
  query.descending = order == "desc";
  constexpr std::size_t any = std::numeric_limits<std::uint32_t>::max();
  query.offset = number(request, "offset", 0, 0, any);
  query.limit = number(request, "limit", 100, 0, 10'000);
  const auto board = board_of(exchange);
  require_opened(*board);
  later(exchange, [board, query] { return json(board->models_json(query)); });
}

void Api::alarms(const Exchange& exchange) {
  const auto board = board_of(exchange);
  require_opened(*board);
  const Request& request = exchange->request();
  std::optional<std::string> key;
  if (const auto said = request.value("key")) key = std::string(*said);
  const std::size_t limit = number(request, "limit", 100, 1, Board::most_alarms);
  later(exchange, [board, key, limit] { return json(board->alarms_json(key, limit)); });
}

// What is said goes the way of a sample, so that it is on disk before it is answered.
void Api::judge_alarm(const Exchange& exchange) {
  const Request& request = exchange->request();
  const auto stream = stream_of(exchange);
  const StreamSettings& settings = stream->settings();
  const std::string key = model_key(request, settings);
  if (!settings.alarms().any())
    throw Refusal(409, "no_alarms",
                  "this stream has no alarms: strangeness, alarm_above and "
                  "alarm_below are not among its options");
  if (stream->board().targets().empty())
    throw Refusal(409, "no_samples", "no sample has come, so there is no alarm to judge");
  const std::optional<bool> is_real = truth_of(request, "real");
  if (!is_real)
    throw Refusal(400, "bad_value", "real: write true if there was something to be told, or false");
  std::vector<JsonField> record{{"alarm", json_of(*is_real ? "real" : "false")}};
  if (!settings.fields.key.empty()) record.emplace_back(settings.fields.key, json_of(key));
  exchange->request().body = json_object(record);
  const Input input{.at = milliseconds_now(), .body = request.body};
  stream->take(input, exchange, [exchange](std::string answers, const Refusal* refusal) {
    answer(*exchange, refusal, {.body = std::move(answers)});
  });
}

void Api::history(const Exchange& exchange) {
  const auto board = board_of(exchange);
  require_opened(*board);
  const View view = view_of(exchange, *board);
  const std::size_t points = number(exchange->request(), "points", 2000, 1, 100'000);
  later(exchange, [board, view, points] { return json(board->history_json(view, points)); });
}

void Api::listen(const Exchange& exchange) {
  constexpr std::size_t most_listeners = 1500;
  const Request& request = exchange->request();
  const std::string name = value(request, "stream");
  View view;
  if (!name.empty()) {
    const auto board = boards_.board(name);
    if (!board) throw Refusal(404, "not_found", "there is no stream of this name");
    view = view_of(exchange, *board);
  }
  if (events_.listeners() >= most_listeners)
    throw Refusal(503, "too_many_listeners", "too many listen already; try again later");
  auto stream = std::make_shared<http::EventStream>();
  events_.listen(name, view, stream);
  exchange->answer(std::move(stream));
}

}  // namespace kalstream::serve
