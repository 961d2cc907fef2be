// TLS, with a certificate of this moment.
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "http/server.h"

namespace kalstream::http {
namespace {

struct Identity {
  std::string certificate;
  std::string key;
};

std::string text_of(gnutls_datum_t& datum) {
  std::string text(reinterpret_cast<const char*>(datum.data), datum.size);
  gnutls_free(datum.data);
  return text;
}

Identity make_identity() {
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_crt_t certificate = nullptr;
  gnutls_x509_privkey_init(&key);
  gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
  gnutls_x509_crt_init(&certificate);
  const unsigned char serial = 1;
  gnutls_x509_crt_set_version(certificate, 3);
  gnutls_x509_crt_set_serial(certificate, &serial, sizeof(serial));
  gnutls_x509_crt_set_activation_time(certificate, std::time(nullptr) - 60);
  gnutls_x509_crt_set_expiration_time(certificate, std::time(nullptr) + 3600);
  gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, "localhost", 9);
  gnutls_x509_crt_set_key(certificate, key);
  gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
  gnutls_datum_t out = {};
  Identity identity;
  gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &out);
  identity.certificate = text_of(out);
  gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &out);
  identity.key = text_of(out);
  gnutls_x509_crt_deinit(certificate);
  gnutls_x509_privkey_deinit(key);
  return identity;
}

int connected_to(std::uint16_t port) {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return client;
}

/// What comes back, until the server closes; asked after another handshake if `again`, by TLS 1.2,
/// which allows it.
std::string ask_by_tls(std::uint16_t port, const std::string& request, bool again = false) {
  const int client = connected_to(port);
  gnutls_session_t session = nullptr;
  gnutls_certificate_credentials_t credentials = nullptr;
  gnutls_init(&session, GNUTLS_CLIENT);
  gnutls_certificate_allocate_credentials(&credentials);
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_priority_set_direct(session, again ? "NORMAL:-VERS-TLS1.3" : "NORMAL", nullptr);
  gnutls_transport_set_int(session, client);
  EXPECT_EQ(gnutls_handshake(session), GNUTLS_E_SUCCESS);
  std::string all;
  if (!again || gnutls_handshake(session) == GNUTLS_E_SUCCESS) {
    gnutls_record_send(session, request.data(), request.size());
    char part[4096];
    for (ssize_t n = 0; (n = gnutls_record_recv(session, part, sizeof(part))) > 0;)
      all.append(part, static_cast<std::size_t>(n));
  }
  gnutls_deinit(session);
  gnutls_certificate_free_credentials(credentials);
  ::close(client);
  return all;
}

/// What a server says that is left alone, until it closes.
std::string said_to(int client) {
  std::string said;
  char part[4096];
  for (ssize_t n = 0; (n = recv(client, part, sizeof(part), 0)) > 0;)
    said.append(part, static_cast<std::size_t>(n));
  ::close(client);
  return said;
}

TEST(ThreadsHttpTls, IsSpoken) {
  const Identity identity = make_identity();
  ServerOptions options;
  options.certificate = identity.certificate;
  options.key = identity.key;
  const std::string large(100'000, 'x');
  const Server server(options, [&](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.body = exchange->request().body + large});
  });
  const std::string answer = ask_by_tls(
      server.port(),
      "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer.substr(0, 200);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello" + large));

  // Who does not speak it is not answered.
  const int plain = connected_to(server.port());
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  send(plain, request.data(), request.size(), MSG_NOSIGNAL);
  EXPECT_EQ(said_to(plain).find("HTTP"), std::string::npos);
}

// Half a handshake, garbage and records of any kind are in nobody's way: others are served beside
// them, and those are let go.
TEST(ThreadsHttpTls, HandshakesThatDoNotEndAreInNobodysWay) {
  using namespace std::string_literals;
  const Identity identity = make_identity();
  ServerOptions options;
  options.certificate = identity.certificate;
  options.key = identity.key;
  options.patience = std::chrono::seconds(1);
  options.max_connections = 24;
  const Server server(options, [](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.body = exchange->request().method});
  });
  const std::string hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s;  // its beginning
  std::vector<std::string> attacks = {"",
                                      hello,
                                      hello + std::string(300, 'x'),
                                      "\x16\x03\x01\xff\xff"s + std::string(70'000, '\0'),
                                      "\x15\x03\x03\x00\x02\x02\x28"s,
                                      "\x17\x03\x03\x40\x00"s + std::string(16'384, 'x'),
                                      "\x80\x2e\x01\x00\x02"s + std::string(44, 'x'),
                                      std::string(5000, '\xff')};
  std::vector<int> clients;
  for (int k = 0; k < 40; ++k) {
    const std::string& text = attacks[static_cast<std::size_t>(k) % attacks.size()];
    clients.push_back(connected_to(server.port()));
    send(clients.back(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (int k = 0; k < 3; ++k)
    EXPECT_TRUE(ask_by_tls(server.port(), request).ends_with("\r\n\r\nGET"));
  EXPECT_EQ(ask_by_tls(server.port(), request, /*again=*/true),
            "");  // who negotiates anew is let go
  for (const int client : clients) EXPECT_EQ(said_to(client).find("HTTP"), std::string::npos);
}

TEST(ThreadsHttpTls, ACertificateThatIsNoneIsRefused) {
  ServerOptions options;
  options.certificate = "no certificate";
  options.key = "no key";
  EXPECT_THROW(Server(options, [](const auto&) {}), std::runtime_error);
}

}  // namespace
}  // namespace kalstream::http
