// kalstream top: watches a running `kalstream stream`, or a stream of `kalstream serve`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include "commands.h"
#include "monitor/metrics_server.h"
#include "monitor/top_view.h"
#include "system/system.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TopArguments {
  std::uint16_t port = default_metrics_port;
  std::string file;
  std::string stream;  // of several
  double every = 2;
  bool once = false;
};

std::string source_of(const TopArguments& a) {
  return a.file.empty() ? fmt::format("127.0.0.1:{}", a.port) : a.file;
}

std::string read_metrics(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status))
    throw std::runtime_error(fmt::format("{} is not there", file.string()));
  std::ifstream in(file, std::ios::binary);
  if (!std::filesystem::is_regular_file(status) || !in)
    throw std::runtime_error(fmt::format("{} cannot be read", file.string()));
  std::string text(largest_metrics_text + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// The only one need not be named.
std::string chosen_of(const std::vector<std::string>& streams, const std::string& wanted) {
  if (wanted.empty() && streams.size() == 1) return streams.front();
  if (std::ranges::find(streams, wanted) != streams.end()) return wanted;
  constexpr std::size_t enough = 10;
  const std::span some(streams.data(), std::min(streams.size(), enough));
  throw std::invalid_argument(
      fmt::format("{}; choose one with --stream: {}{}",
                  wanted.empty() ? fmt::format("there are {} streams", streams.size())
                                 : fmt::format("there is no stream '{}'", wanted),
                  fmt::join(some, ", "), streams.size() > enough ? ", …" : ""));
}

/// Throws std::runtime_error.
StreamStatus look(const TopArguments& a) {
  const std::string text = a.file.empty() ? fetch_metrics(a.port) : read_metrics(a.file);
  try {
    Metrics metrics = parse_prometheus(text);
    if (const auto streams = streams_in(metrics); !streams.empty())
      metrics = metrics_of(metrics, chosen_of(streams, a.stream));
    if (!metrics.contains("kalstream_lines_read_total"))
      throw MetricsError("they are not those of a stream");
    return status_of(metrics);
  } catch (const MetricsError& error) {
    throw std::runtime_error(
        fmt::format("{} holds no metrics of kalstream: {}", source_of(a), error.what()));
  }
}

/// Signals that end it, and with a screen also those that matter to one, arrive only while wait()
/// waits.
class Signals {
 public:
  explicit Signals(bool screen) {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH})
      if (screen || (signal != SIGTSTP && signal != SIGWINCH)) sigaddset(&ours, signal);
    sigprocmask(SIG_BLOCK, &ours, nullptr);
    descriptor_ = Descriptor(System::real(), signalfd(-1, &ours, SFD_CLOEXEC));
  }

  /// What ended a wait.
  struct Woken {
    char key = 0;          ///< 0: none
    bool ends = false;     ///< asked to, by a signal, or the terminal is not there any more
    bool suspend = false;  ///< asked to
  };

  /// Until then, or a key or a signal comes.
  Woken wait(Clock::time_point until, bool keys) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    std::array<pollfd, 2> polled{
        {{.fd = descriptor_.get(), .events = POLLIN, .revents = 0},
         {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}}};
    Woken woken;
    if (poll(polled.data(), polled.size(), std::max(0, static_cast<int>(left.count()))) <= 0)
      return woken;
    if (polled[1].revents != 0) woken.ends = read(STDIN_FILENO, &woken.key, 1) != 1;
    if (polled[0].revents == 0) return woken;
    signalfd_siginfo signal{};
    if (read(descriptor_.get(), &signal, sizeof(signal)) != sizeof(signal)) return woken;
    woken.suspend = signal.ssi_signo == SIGTSTP;
    woken.ends = woken.ends || (!woken.suspend && signal.ssi_signo != SIGWINCH);
    return woken;
  }

 private:
  Descriptor descriptor_{System::real(), -1};
};

/// The terminal's other screen, without a cursor; keys are not shown. As it was, afterwards.
class Screen {
 public:
  Screen() { enter(); }
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// False if there is nothing to draw on any more.
  bool draw(const std::vector<std::string>& lines) const {
    // All in one piece, and every line is erased only behind its new text: nothing flickers.
    std::string text = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i)
      text += lines[i] + "\x1b[K" + (i + 1 < lines.size() ? "\r\n" : "");
    return write(text + "\x1b[J");
  }

  /// Gives the terminal back until the process goes on.
  void suspend() {
    leave();
    raise(SIGSTOP);
    enter();
  }

  bool keys() const { return keys_; }

 private:
  void enter() {
    keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (keys_) {
      termios quiet = before_;
      quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    write("\x1b[?1049h\x1b[?25l\x1b[2J");
  }
  void leave() {
    write("\x1b[?25h\x1b[?1049l");
    if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  static bool write(const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
           std::fflush(stdout) == 0;
  }

  termios before_{};
  bool keys_ = false;
};

winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  return size;
}

/// Looks again and again, and remembers.
class Lookout {
 public:
  explicit Lookout(const TopArguments& a) : a_(a) {
    context_.every = a.every;
    context_.source = source_of(a);
    context_.colours = view::is_terminal(stdout) && std::getenv("NO_COLOR") == nullptr;
    take(look(a));
  }

  /// False if there is no answer; what was seen last stays.
  bool look_again() {
    try {
      take(look(a_));
    } catch (const std::runtime_error& error) {
      context_.trouble = fmt::format("no answer for {}, waiting: {}", ago(answered_), error.what());
      return false;
    }
    constexpr double long_silence = 10;  // seconds
    const double silence = std::chrono::duration<double>(Clock::now() - changed_).count();
    if (silence > std::max(long_silence, 3 * a_.every))
      context_.trouble = fmt::format("nothing new for {}: has the stream ended?", ago(changed_));
    return true;
  }

  const StreamStatus& status() const { return status_; }
  const TopContext& context() const { return context_; }

 private:
  static std::string ago(Clock::time_point then) {
    return view::format_seconds(
        std::floor(std::chrono::duration<double>(Clock::now() - then).count()));
  }

  void take(StreamStatus status) {
    constexpr std::size_t most = 1000;
    answered_ = Clock::now();
    if (!(status.uptime_seconds == status_.uptime_seconds)) changed_ = answered_;
    status_ = std::move(status);
    context_.trouble.clear();
    auto& past = context_.past_errors;
    if (past.size() == most) past.erase(past.begin());
    past.push_back(status_.recent_errors.rmse);
  }

  const TopArguments& a_;
  StreamStatus status_;
  TopContext context_;
  Clock::time_point answered_;
  Clock::time_point changed_;
};

void show_once(const Lookout& lookout) {
  constexpr std::size_t most_lines = 1000;
  // The last column stays free: some terminals wrap as soon as it is written.
  for (const std::string& line :
       top_view(lookout.status(), lookout.context(), view::terminal_width(stdout) - 1, most_lines))
    fmt::print("{}\n", line);
}

// One line at a time, for a file or a pipe.
void log_lines(Lookout& lookout, const Signals& signals, const TopArguments& a) {
  bool waiting = false;
  for (auto next = Clock::now();;) {
    if (!waiting) fmt::print("{}\n", top_line(lookout.status()));
    if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
    next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(a.every));
    while (Clock::now() < next)
      if (signals.wait(next, false).ends) return;
    const bool answered = lookout.look_again();
    if (!answered && !waiting) fmt::print("{}\n", lookout.context().trouble);
    waiting = !answered;
  }
}

void show_screen(Lookout& lookout, const Signals& signals, const TopArguments& a) {
  Screen screen;
  for (auto next = Clock::now();;) {
    next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(a.every));
    while (Clock::now() < next) {
      const winsize size = terminal_size();
      if (!screen.draw(top_view(lookout.status(), lookout.context(), size.ws_col - 1, size.ws_row)))
        return;
      const auto [key, ends, suspend] = signals.wait(next, screen.keys());
      if (ends || key == 'q' || key == 'Q') return;
      if (suspend) screen.suspend();
    }
    lookout.look_again();
    next = std::max(next, Clock::now() - std::chrono::seconds(1));  // no hurry after a long wait
  }
}

void top(const TopArguments& a) {
  if (!(a.every >= 0.1 && a.every <= 3600))
    throw std::invalid_argument("--every takes 0.1 to 3600 seconds");
  std::optional<Lookout> lookout;
  try {
    lookout.emplace(a);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format(
        "{}; is kalstream stream running with {}?", error.what(),
        a.file.empty() ? fmt::format("--metrics-port {}", a.port) : "--metrics-file " + a.file));
  }
  if (a.once) return show_once(*lookout);
  const bool screen = view::is_terminal(stdout);
  const Signals signals(screen);
  if (screen)
    show_screen(*lookout, signals, a);
  else
    log_lines(*lookout, signals, a);
}

}  // namespace

void add_top(CLI::App& app) {
  auto a = std::make_shared<TopArguments>();
  CLI::App* cmd = app.add_subcommand("top", "Watch a running stream");
  CLI::Option* port =
      cmd->add_option("--metrics-port", a->port, "Where the stream serves its metrics")
          ->check(whole_number(1, 65535))
          ->capture_default_str();
  cmd->add_option("--metrics-file", a->file, "Or the file it writes them to")->excludes(port);
  cmd->add_option("--stream", a->stream, "Which one, of several that kalstream serve has");
  cmd->add_option("--every", a->every, "Seconds between two looks")->capture_default_str();
  cmd->add_flag("--once", a->once, "Show it once and leave");
  cmd->callback([a] { top(*a); });
}

}  // namespace kalstream::cli
