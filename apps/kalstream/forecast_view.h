// What `kalstream forecast` shows and writes.
#pragma once

#include <string>
#include <vector>

#include "eval/outlook.h"
#include "schema/dataset.h"
#include "settings/stream_settings.h"

namespace kalstream::cli {

/// Everything there is to tell of a forecast.
struct ForecastReport {
  const Dataset& data;
  const RunResult& run;
  const std::vector<Outlook>& outlooks;  ///< one for each model
  std::string learner;
  Coverages interval;
  std::vector<std::string> notes;

  bool has_keys() const { return !data.keys.empty(); }
};

std::string forecast_table(const ForecastReport& report);
std::string backtest_table(const ForecastReport& report, const Outlook& outlook);
std::string forecast_csv(const ForecastReport& report);
std::string forecast_json(const ForecastReport& report);

/// Past, forecast and band: of the first few models, or of one.
std::string forecast_svg(const ForecastReport& report);
std::string forecast_text_chart(const ForecastReport& report, const Outlook& outlook,
                                std::size_t width, bool colours);

}  // namespace kalstream::cli
