// What goes wrong with a broker, and what that means for who asked it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace kalstream::kafka {

/// Every failure of a call to Kafka. The text says what was tried, what came of it, and, where that
/// can be known, what to do.
class KafkaError : public std::runtime_error {
 public:
  /// What is left to do.
  enum class Kind : std::uint8_t {
    plain,      ///< it failed
    retriable,  ///< the same call may succeed later
    abortable,  ///< the transaction has to be aborted, then all may go on
    fatal,      ///< this client can do nothing any more; the process has to start again
  };

  KafkaError(int code, Kind kind, const std::string& text)
      : std::runtime_error(text), code_(code), kind_(kind) {}

  int code() const { return code_; }  ///< rd_kafka_resp_err_t
  bool fatal() const { return kind_ == Kind::fatal; }
  bool abortable() const { return kind_ == Kind::abortable; }
  bool retriable() const { return kind_ == Kind::retriable; }
  /// Another process has taken this one's place: the same instance, or its transactions.
  bool fenced() const;

 private:
  int code_;
  Kind kind_;
};

/// What to do about an error of this code, as the end of a sentence: "; check sasl.password"; empty
/// where nobody can say.
std::string advice_for(int code);

/// Whether it passes by itself: a broker that is away or busy, a coordinator that moves.
bool may_pass(int code);

/// "Broker: Unknown topic or partition".
std::string name_of(int code);

}  // namespace kalstream::kafka
