#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <ranges>
#include <span>
#include <stdexcept>
#include <vector>

#include "commands.h"
#include "core/closest.h"
#include "kalstream/snapshot.h"
#include "kernels/dispatch.h"
#include "schema/dataset.h"
#include "schema/rules.h"

namespace {

using namespace kalstream;

constexpr const char* examples = R"(Examples:
  kalstream demo                                    watch several learners side by side
  kalstream run my.csv                              predict the last column, learning as it goes
  kalstream run my.csv --target price,load --horizon 10
                                                    two targets, and forecasts ten rows ahead
  kalstream run my.csv --interval 0.9 --plot-predictions p.svg
                                                    predictions and their bounds, drawn
  kalstream forecast load.csv --horizon 48 --plot load.svg
                                                    what comes next, with times and bounds
  kalstream stream --follow log.jsonl --interval 0.9 --checkpoint state.kal --resume
                                                    answer a live stream line by line, for months
  kalstream run 'gen:addition?n=3' --learner ekf --unscaled --stop-when-sustained
                                                    a generated stream instead of a file
  kalstream run kin8nm.csv --learner sgd,adam,dekf,ekf,alg2 --preset authors --seeds 10
                                                    the published comparison on your copy of the data
  kalstream search my.csv --learner alg2 --grid initial_covariance=1,10,100
                                                    the best of several settings
  kalstream reproduce all --data DIR --resume       every table and figure of the paper
  kalstream bench --hidden 32 --inputs 20           time per sample on this machine
  kalstream inspect my.csv                          what is in the file, and what would run
  kalstream inspect --learner alg2                  every setting of a learner, for --set
  kalstream inspect my.csv --learner auto           the experts that auto would blend
  kalstream inspect state.kal                       what a snapshot or a checkpoint holds
  kalstream generate narma10 --rows 1000 --out narma.csv

Exit codes: 0 fine, 1 failure, 2 usage or configuration, 3 bad data.)";

// The library falls back silently; people should know.
void check_kernels() {
  const char* wanted = std::getenv("KALSTREAM_TARGET");
  if (wanted == nullptr || *wanted == '\0' || kernels::target_name() == wanted) return;
  const auto known = kernels::available_targets() | std::views::transform(&kernels::Kernels::name);
  throw std::invalid_argument(
      fmt::format("KALSTREAM_TARGET={}: this processor has no such kernels; it has {}", wanted,
                  fmt::join(known, ", ")));
}

int fail(int code, const char* message) {
  std::fprintf(stderr, "kalstream: %s\n", message);
  return code;
}

// A file that is opened must not get the number of an output that was closed: what is meant for
// people would be written into it.
void open_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

// Throws std::invalid_argument unless the first word is a command, and the second one of its own
// if it has any (CLI11 would only say that one is required). What begins with a hyphen is none.
void check_command(const CLI::App& app, std::span<const char* const> words) {
  if (words.empty() || words.front()[0] == '-') return;
  const std::string name = words.front();
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) {
      if (!command->get_subcommands({}).empty()) check_command(*command, words.subspan(1));
      return;
    }
    known.push_back(command->get_name());
  }
  throw std::invalid_argument(fmt::format("unknown command '{}'; there are {}{}", name,
                                          fmt::join(known, ", "), did_you_mean(name, known)));
}

// After parsing has failed: a complaint about the first option that there is not; empty if that
// was not the reason.
std::string unknown_option(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string called;                            // "fleet init "
  while (!command->get_subcommands().empty()) {  // those on the command line
    command = command->get_subcommands().front();
    called += command->get_name() + " ";
  }
  for (const std::string& argument : app.remaining(/*recurse=*/true)) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
    return fmt::format("{}no option {}{} ('kalstream {}--help' lists them)",
                       called.empty() ? "there is " : called + "has ", name,
                       did_you_mean(name, known), called);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  CLI::App app{
      "kalstream predicts a stream and learns from every sample: online regression with LSTM\n"
      "networks trained by Kalman-type methods. Each row is predicted before its target is used."};
  app.name("kalstream");
  app.footer(examples);
  app.set_version_flag("--version", cli::about());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  cli::add_run(app);
  cli::add_forecast(app);
  cli::add_stream(app);
  cli::add_serve(app);
  cli::add_fleet(app);
  cli::add_demo(app);
  cli::add_generate(app);
  cli::add_inspect(app);
  cli::add_search(app);
  cli::add_reproduce(app);
  cli::add_bench(app);
  cli::add_top(app);

  try {
    check_kernels();
    check_command(app, std::span<const char* const>(argv, argc).subspan(argc > 0 ? 1 : 0));
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw std::runtime_error("standard output cannot be written");
    return cli::fine;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    const std::string unknown = unknown_option(app);
    if (!unknown.empty()) return fail(cli::usage, unknown.c_str());
    app.exit(error);
    return cli::usage;
  } catch (const DataError& error) {
    return fail(cli::bad_data, error.what());
  } catch (const SnapshotError& error) {
    return fail(cli::bad_data, error.what());
  } catch (const SchemaError& error) {
    return fail(cli::bad_data, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(cli::usage, error.what());
  } catch (const std::bad_alloc&) {
    return fail(cli::failure,
                "not enough memory; use fewer --hidden units, rows or --jobs (kalstream inspect "
                "--data F --learner L shows what a learner needs)");
  } catch (const std::exception& error) {
    return fail(cli::failure, error.what());
  }
}
