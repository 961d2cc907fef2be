// What is asked of a service over HTTP, and what it answers (docs/serve.md, openapi.json).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "serve/events.h"
#include "serve/service.h"

namespace kalstream::serve {

class Api {
 public:
  using Exchange = std::shared_ptr<http::Exchange>;

  /// `service` is nullptr where streams can only be looked at.
  Api(const Boards& boards, Service* service, Events& events, WorkThreads& threads);

  /// Answers, now or later.
  void handle(const Exchange& exchange);

  /// All that there is: "GET /api/v1/streams/{name}".
  static std::vector<std::string> routes();

 private:
  using Handler = std::function<void(Api&, const Exchange&)>;
  struct Route {
    const char* method;
    const char* path;  // {name} stands for any
    Handler handler;
    bool changes = false;  // something: not where streams can only be looked at
  };
  static const std::vector<Route>& table();

  void page(const Exchange& exchange);
  void metrics(const Exchange& exchange);
  void make(const Exchange& exchange);
  void samples(const Exchange& exchange);
  void forecast(const Exchange& exchange);
  void snapshot(const Exchange& exchange);
  void put_snapshot(const Exchange& exchange);
  void models(const Exchange& exchange);
  void forget_model(const Exchange& exchange);
  void alarms(const Exchange& exchange);
  void judge_alarm(const Exchange& exchange);
  void history(const Exchange& exchange);
  void listen(const Exchange& exchange);

  std::shared_ptr<const Board> board_of(const Exchange& exchange) const;
  Service::Stream stream_of(const Exchange& exchange) const;
  View view_of(const Exchange& exchange, const Board& board) const;
  void later(const Exchange& exchange, std::function<http::Response()> make);

  const Boards& boards_;
  Service* service_;
  Events& events_;
  std::shared_ptr<Strand> readers_;  // what takes longer than the server's thread has time for
};

}  // namespace kalstream::serve
