#include "paper/published.h"

#include <algorithm>
#include <limits>

namespace kalstream::paper {
namespace {

using enum Experiment;

// clang-format off
constexpr std::array<Table1Entry, 36> table1{{
    {kin8nm,    "sgd",     {.70, .23}, {.67, .24},   .58},
    {kin8nm,    "rmsprop", {.44, .26}, {.44, .25},   .59},
    {kin8nm,    "adam",    {.42, .23}, {.43, .23},   .58},
    {kin8nm,    "dekf",    {.39, .23}, {.40, .23},  1.68},
    {kin8nm,    "ekf",     {.31, .17}, {.30, .18}, 62.17},
    {kin8nm,    "alg2",    {.32, .20}, {.34, .20},  4.48},
    {kin32fm,   "sgd",     {.42, .27}, {.42, .29},  1.15},
    {kin32fm,   "rmsprop", {.24, .18}, {.24, .18},  1.03},
    {kin32fm,   "adam",    {.24, .19}, {.25, .19},  1.06},
    {kin32fm,   "dekf",    {.23, .16}, {.23, .17},  2.51},
    {kin32fm,   "ekf",     {.18, .11}, {.18, .12}, 112.11},
    {kin32fm,   "alg2",    {.15, .06}, {.18, .10},  9.04},
    {elevators, "sgd",     {.51, .21}, {.52, .24},   .62},
    {elevators, "rmsprop", {.34, .17}, {.35, .17},   .55},
    {elevators, "adam",    {.34, .16}, {.35, .17},   .57},
    {elevators, "dekf",    {.24, .14}, {.24, .14},  1.74},
    {elevators, "ekf",     {.19, .09}, {.19, .09}, 53.74},
    {elevators, "alg2",    {.21, .09}, {.22, .09},  4.45},
    {puma8nm,   "sgd",     {.46, .22}, {.45, .22},   .58},
    {puma8nm,   "rmsprop", {.25, .13}, {.26, .13},   .59},
    {puma8nm,   "adam",    {.26, .16}, {.26, .16},   .58},
    {puma8nm,   "dekf",    {.21, .13}, {.21, .13},  1.72},
    {puma8nm,   "ekf",     {.14, .08}, {.14, .08}, 59.38},
    {puma8nm,   "alg2",    {.16, .11}, {.17, .11},  4.31},
    {puma8nh,   "sgd",     {.72, .21}, {.72, .22},   .61},
    {puma8nh,   "rmsprop", {.52, .16}, {.52, .16},   .61},
    {puma8nh,   "adam",    {.52, .18}, {.52, .18},   .65},
    {puma8nh,   "dekf",    {.50, .15}, {.50, .15},  1.76},
    {puma8nh,   "ekf",     {.47, .17}, {.46, .16}, 68.23},
    {puma8nh,   "alg2",    {.47, .21}, {.46, .21},  4.60},
    {puma32fm,  "sgd",     {.34, .20}, {.33, .22},  1.11},
    {puma32fm,  "rmsprop", {.20, .13}, {.20, .14},  1.03},
    {puma32fm,  "adam",    {.22, .17}, {.22, .17},  1.06},
    {puma32fm,  "dekf",    {.19, .13}, {.18, .13},  2.51},
    {puma32fm,  "ekf",     {.15, .09}, {.15, .09}, 113.14},
    {puma32fm,  "alg2",    {.12, .05}, {.13, .08},  9.21},
}};

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<double, 5> failed{inf, inf, inf, inf, inf};
constexpr std::array<double, 5> none{nan, nan, nan, nan, nan};

constexpr std::array<Table2Column, 12> table2{{
    {3, "rmsprop", {43778, 44472, 22912, 27264, 21073}, {15.61, 15.74, 8.47, 7.46, 6.69}},
    {3, "dekf",    {29995, 11464, 25382, 12242, 19491}, {11.24, 5.21, 9.72, 5.25, 7.67}},
    {3, "ekf",     {5995, 2651, 5411, 4205, 3244},      {37.93, 17.16, 33.74, 26.5, 20.65}},
    {3, "alg2",    {6906, 6107, 7065, 8245, 5510},      {11.21, 10.26, 11.79, 14.48, 9.26}},
    {4, "rmsprop", failed, none},
    {4, "dekf",    failed, none},
    {4, "ekf",     {28978, 30578, 59835, 50549, 15871}, {197.03, 207.38, 407.63, 343.84, 107.75}},
    {4, "alg2",    {31353, 36606, 53204, 18083, 18165}, {52.05, 61.41, 88.03, 30.99, 32.96}},
    {5, "rmsprop", failed, none},
    {5, "dekf",    failed, none},
    {5, "ekf",     {27977, 61709, 54763, 32647, 44492}, {202.27, 477.21, 412.44, 245.28, 334.85}},
    {5, "alg2",    {33912, 78583, 54777, 93080, 57919}, {52.34, 128.53, 85.38, 174.21, 86.36}},
}};
// clang-format on

const auto* found(const auto& table, const auto& matches) {
  const auto entry = std::find_if(table.begin(), table.end(), matches);
  return entry == table.end() ? nullptr : &*entry;
}

}  // namespace

const Table1Entry* published_table1(Experiment experiment, std::string_view learner) {
  return found(table1, [&](const Table1Entry& e) {
    return e.experiment == experiment && e.learner == learner;
  });
}

const Table2Column* published_table2(int n, std::string_view learner) {
  return found(table2, [&](const Table2Column& c) { return c.n == n && c.learner == learner; });
}

}  // namespace kalstream::paper
