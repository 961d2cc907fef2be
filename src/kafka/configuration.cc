#include "kafka/configuration.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace kalstream::kafka {

namespace {

// Exactly once rests on these; to change them would break it without a word.
constexpr std::array the_fleets_own = {
    "auto.offset.reset",  "enable.auto.commit",   "enable.auto.offset.store",
    "enable.idempotence", "enable.partition.eof", "group.id",
    "group.instance.id",  "isolation.level",      "transactional.id"};

std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

std::string contents_of(const std::filesystem::path& path, const std::string& where) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad())
    throw std::invalid_argument(fmt::format("{}: {} cannot be read", where, path.string()));
  return text;
}

std::pair<std::string, std::string> split(const std::string& assignment, const std::string& where) {
  const auto equals = assignment.find('=');
  std::string name = trimmed(std::string_view(assignment).substr(0, equals));
  // Without a sign there is no telling what is a name and what a password.
  if (equals == assignment.npos || name.empty())
    throw std::invalid_argument(fmt::format("{}: write name=value", where));
  return {std::move(name), trimmed(std::string_view(assignment).substr(equals + 1))};
}

}  // namespace

bool is_secret(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  return has("password") || has("secret") || has("jaas") || has("token") ||
         name.ends_with(".pem") || name == "sasl.oauthbearer.config";
}

Configuration::Configuration(std::string brokers) {
  if (trimmed(brokers).empty())
    throw std::invalid_argument("--brokers: write HOST:PORT, several with commas");
  set("bootstrap.servers", std::move(brokers));
  set("client.id", "kalstream");
  set("log.connection.close", "false");     // idle connections are closed: no news
  set("reconnect.backoff.max.ms", "1000");  // a broker that is back is soon found
  set("message.max.bytes", "16777216");     // snapshots are large
  set("socket.keepalive.enable", "true");
}

Configuration& Configuration::set(const std::string& name, std::string value) {
  values_[name] = std::move(value);
  return *this;
}

Configuration& Configuration::set_default(const std::string& name, std::string value) {
  values_.try_emplace(name, std::move(value));
  return *this;
}

void Configuration::take(const std::string& name, std::string value, const std::string& where) {
  for (const char* own : the_fleets_own)
    if (name == own)
      throw std::invalid_argument(fmt::format("{} {}: kalstream sets this itself", where, name));
  if (name == "bootstrap.servers" || name == "metadata.broker.list")
    throw std::invalid_argument(fmt::format("{} {}: give --brokers instead", where, name));
  if (name.find("jaas") != name.npos)
    throw std::invalid_argument(fmt::format(
        "{} {}: only Java's clients know this; give sasl.username and sasl.password", where, name));
  set(name, std::move(value));
}

void Configuration::take_option(const std::string& assignment) {
  auto [name, value] = split(assignment, "--kafka");
  if (value.starts_with('@'))
    value = trimmed(contents_of(value.substr(1), fmt::format("--kafka {}", name)));
  else if (is_secret(name))
    throw std::invalid_argument(
        fmt::format("--kafka {0}: everybody on this machine can see a command line; write "
                    "{0}=… into a file for --kafka-file, or give --kafka {0}=@FILE",
                    name));
  take(name, std::move(value), "--kafka");
}

void Configuration::take_file(const std::filesystem::path& path) {
  const std::string text = contents_of(path, "--kafka-file");
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    auto [name, value] = split(line, where);
    take(name, std::move(value), where);
  }
}

std::string Configuration::value(const std::string& name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::string() : at->second;
}

std::string Configuration::hide_secrets(std::string text) const {
  for (const auto& [name, value] : values_) {
    if (!is_secret(name) || value.empty()) continue;
    for (auto at = text.find(value); at != text.npos; at = text.find(value, at + 3))
      text.replace(at, value.size(), "***");
  }
  return text;
}

}  // namespace kalstream::kafka
