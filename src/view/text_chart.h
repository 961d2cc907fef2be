// A chart of characters, for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "view/chart.h"

namespace kalstream::view {

struct TextChartStyle {
  std::size_t width = 76;   ///< columns, with the numbers of the y axis
  std::size_t height = 12;  ///< rows of the plot
  bool colours = false;
  std::string left = {};  ///< below the ends of the x axis
  std::string right = {};
};

/// Lines as dots, the first grey, with their bands shaded behind them. Where several points of a
/// line share a column, all of them are seen. The y axis has the limits of the panel.
std::string text_chart(const Panel& panel, const TextChartStyle& style);

}  // namespace kalstream::view
