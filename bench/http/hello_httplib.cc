// As hello_microhttpd.cc, with cpp-httplib: a thread from a pool for every connection.
#include <httplib.h>

#include <cstdio>

int main() {
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(600); };
  server.set_keep_alive_max_count(1000000000);
  server.set_tcp_nodelay(true);
  server.Post("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("{\"sample\":1,\"status\":\"learnt\",\"prediction\":0.5}\n",
                         "application/json");
  });
  server.Get("/events", [](const httplib::Request&, httplib::Response& response) {
    response.set_chunked_content_provider(
        "text/event-stream", [](size_t at, httplib::DataSink& sink) {
          if (at == 0) sink.write("data: hello\n\n", 13);
          std::this_thread::sleep_for(std::chrono::seconds(1));  // nothing to say: the thread waits
          return true;
        });
  });
  std::printf("%d\n", server.bind_to_any_port("127.0.0.1"));
  std::fflush(stdout);
  server.listen_after_bind();
}
