// A client that does what a test tells it, also what no proper client would.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace kalstream::test {

struct HttpAnswer {
  int status = 0;  ///< 0: none came
  std::string head;
  std::string body;

  /// The value of a header; empty if it is not there.
  std::string header(std::string_view name) const {
    const std::string line = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(line);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + line.size();
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

/// A connection to this machine.
class HttpVisitor {
 public:
  static constexpr int patience = 60'000;  // milliseconds

  explicit HttpVisitor(std::uint16_t port)
      : port_(port), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~HttpVisitor() { ::close(socket_); }
  HttpVisitor(const HttpVisitor&) = delete;
  HttpVisitor& operator=(const HttpVisitor&) = delete;

  bool connected() const { return connected_; }

  bool say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  /// Nothing more will be said; answers can still come.
  void finish() const { ::shutdown(socket_, SHUT_WR); }

  /// A request as it is written; `headers` are lines with their ends.
  std::string request(const std::string& method, const std::string& target,
                      const std::string& body = "", const std::string& type = "application/json",
                      const std::string& headers = "") const {
    std::string text = method + ' ' + target +
                       " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n" + headers;
    if (!body.empty())
      text +=
          "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + body;
  }

  HttpAnswer ask(const std::string& method, const std::string& target, const std::string& body = "",
                 const std::string& type = "application/json", const std::string& headers = "") {
    if (!say(request(method, target, body, type, headers))) return {};
    return answer(method != "HEAD");
  }

  /// The next answer; status 0 if the other side went away. The body of one in chunks, such as a
  /// stream of events, is what until() finds from then on.
  HttpAnswer answer(bool has_body = true) {
    HttpAnswer answer;
    const std::string head = until("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 ")) return answer;
    answer.head = head;
    answer.status = std::atoi(head.c_str() + 9);
    if (answer.header("Transfer-Encoding") == "chunked") {
      is_chunked_ = true;
      chunks_ = std::exchange(buffer_, {});
      take_chunks();
    }
    if (const std::string length = answer.header("Content-Length"); !length.empty() && has_body)
      answer.body = take(std::strtoull(length.c_str(), nullptr, 10));
    return answer;
  }

  /// All up to and including this text; empty if it does not come.
  std::string until(std::string_view text) {
    while (true) {
      const std::size_t at = buffer_.find(text);
      if (at != std::string::npos) {
        std::string found = buffer_.substr(0, at + text.size());
        buffer_.erase(0, found.size());
        return found;
      }
      if (!read_more()) return "";
    }
  }

  /// The other side has closed, or ended its stream of events; what it said before that is lost.
  bool is_closed() {
    while (read_more()) buffer_.clear();
    return ended_ || last_chunk_;
  }

 private:
  std::string take(std::size_t n) {
    while (buffer_.size() < n && read_more()) {
    }
    std::string found = buffer_.substr(0, n);
    buffer_.erase(0, found.size());
    return found;
  }

  bool read_more() {
    pollfd waits{.fd = socket_, .events = POLLIN, .revents = 0};
    int ready = 0;
    do ready = ::poll(&waits, 1, patience);
    while (ready < 0 && errno == EINTR);  // by the clock of a fuzzer, say
    if (ready <= 0) return false;
    char part[16384];
    const ssize_t n = ::recv(socket_, part, sizeof(part), 0);
    ended_ = n <= 0;
    if (n > 0) (is_chunked_ ? chunks_ : buffer_).append(part, static_cast<std::size_t>(n));
    if (is_chunked_) take_chunks();
    return n > 0 && !last_chunk_;
  }

  void take_chunks() {
    while (!last_chunk_) {
      const std::size_t line = chunks_.find("\r\n");
      if (line == std::string::npos) return;
      const std::size_t size = std::strtoull(chunks_.c_str(), nullptr, 16);
      if (chunks_.size() < line + 2 + size + 2) return;
      buffer_.append(chunks_, line + 2, size);
      chunks_.erase(0, line + 2 + size + 2);
      last_chunk_ = size == 0;
    }
  }

  std::uint16_t port_;
  int socket_;
  bool connected_ = false;
  bool ended_ = false;
  bool is_chunked_ = false;
  bool last_chunk_ = false;
  std::string chunks_;  // not yet taken apart
  std::string buffer_;
};

}  // namespace kalstream::test
