// The smallest server that does what `kalstream serve` does most: answers a small POST, and holds
// event streams open. With libmicrohttpd; prints its port. bench/http/measure.py compares.
#include <microhttpd.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

MHD_Connection* connection_of(void* cls) { return static_cast<MHD_Connection*>(cls); }

// One event, then silence: who has nothing to say is suspended.
ssize_t say(void* cls, uint64_t at, char* to, size_t most) {
  constexpr char text[] = "data: hello\n\n";
  if (at == 0 && most >= sizeof(text)) {
    std::memcpy(to, text, sizeof(text) - 1);
    return sizeof(text) - 1;
  }
  MHD_suspend_connection(connection_of(cls));
  return 0;
}

MHD_Result answer(void*, MHD_Connection* connection, const char* path, const char*, const char*,
                  const char*, size_t* size, void** state) {
  if (*state == nullptr) {
    *state = new std::string;
    return MHD_YES;
  }
  if (*size > 0) {
    *size = 0;
    return MHD_YES;
  }
  MHD_Response* response = nullptr;
  if (std::strcmp(path, "/events") == 0) {
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, say, connection, nullptr);
  } else {
    static char text[] = "{\"sample\":1,\"status\":\"learnt\",\"prediction\":0.5}\n";
    response = MHD_create_response_from_buffer(sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
  }
  MHD_add_response_header(response, "Content-Type", "application/json");
  const MHD_Result queued = MHD_queue_response(connection, 200, response);
  MHD_destroy_response(response);
  return queued;
}

void done(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
  delete static_cast<std::string*>(*state);
  *state = nullptr;
}

}  // namespace

int main() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  MHD_Daemon* daemon =
      MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr,
                       nullptr, answer, nullptr, MHD_OPTION_SOCK_ADDR, &address,
                       MHD_OPTION_NOTIFY_COMPLETED, done, nullptr, MHD_OPTION_CONNECTION_LIMIT,
                       2000U, MHD_OPTION_CONNECTION_MEMORY_LIMIT, size_t{16384}, MHD_OPTION_END);
  if (daemon == nullptr) return 1;
  std::printf("%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  std::fflush(stdout);
  pause();
}
