// Settings of the Kafka client, as users give them; secrets among them are never shown.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace kalstream::kafka {

/// Where a client tells people something. Any thread may call it.
using Say = std::function<void(const std::string&)>;

/// Whether a setting of this name must not be seen by others: passwords, keys, tokens.
bool is_secret(std::string_view name);

/// Names and values in the words of librdkafka (its CONFIGURATION.md). Later ones replace earlier
/// ones.
class Configuration {
 public:
  explicit Configuration(std::string brokers);

  /// One of the program's own.
  Configuration& set(const std::string& name, std::string value);
  /// Unless it is set.
  Configuration& set_default(const std::string& name, std::string value);
  Configuration with(const std::string& name, std::string value) const {
    return Configuration(*this).set(name, std::move(value));
  }

  /// From the command line: "name=value", or "name=@FILE" for the contents of a file. Throws
  /// std::invalid_argument: for a secret that is given openly, since everybody on the machine can
  /// see the command lines of all processes; for what the fleet decides itself.
  void take_option(const std::string& assignment);
  /// Lines of name=value; empty ones and those that begin with # are passed over.
  void take_file(const std::filesystem::path& path);

  const std::map<std::string, std::string>& values() const { return values_; }
  const std::string& brokers() const { return values_.at("bootstrap.servers"); }
  /// The value of a setting; empty if it is not set.
  std::string value(const std::string& name) const;
  /// The text, with "***" in the place of each secret.
  std::string hide_secrets(std::string text) const;

 private:
  void take(const std::string& name, std::string value, const std::string& where);

  std::map<std::string, std::string> values_;
};

}  // namespace kalstream::kafka
