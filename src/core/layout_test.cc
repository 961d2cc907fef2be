#include "core/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace kalstream {
namespace {

NetworkOptions sizes(std::size_t inputs, std::size_t hidden, std::size_t outputs, bool input_bias,
                     bool output_bias) {
  NetworkOptions network;
  network.inputs = inputs;
  network.hidden = hidden;
  network.outputs = outputs;
  network.input_bias = input_bias;
  network.output_bias = output_bias;
  return network;
}

void for_each_layout(const auto& check) {
  for (const std::size_t inputs : {1, 2, 7})
    for (const std::size_t hidden : {0, 1, 2, 5})
      for (const std::size_t outputs : {1, 2, 3})
        for (const bool input_bias : {false, true})
          for (const bool output_bias : {false, true})
            for (const Cell cell : {Cell::lstm, Cell::gru, Cell::simple, Cell::feedforward})
              for (const bool direct : {false, true}) {
                NetworkOptions network = sizes(inputs, hidden, outputs, input_bias, output_bias);
                network.cell = cell;
                network.direct = direct;
                if (hidden == 0 && !(cell == Cell::feedforward && direct)) continue;
                ASSERT_NO_THROW(network.validate());
                check(ParameterLayout(network));
              }
}

TEST(Layout, Sizes) {
  const ParameterLayout with(sizes(3, 4, 2, true, true));
  EXPECT_EQ(with.n_inputs, 3U);
  EXPECT_EQ(with.n_x, 4U);
  EXPECT_EQ(with.gate_row_size(), 8U);
  EXPECT_EQ(with.output_row_size(), 5U);
  EXPECT_EQ(with.gate_weights(), 128U);
  EXPECT_EQ(with.size(), 138U);
  const ParameterLayout without(sizes(3, 4, 2, false, false));
  EXPECT_EQ(without.n_x, 3U);
  EXPECT_EQ(without.gate_row_size(), 7U);
  EXPECT_EQ(without.output_row_size(), 4U);
  EXPECT_EQ(without.size(), 120U);
}

TEST(Layout, SizesOfOtherCells) {
  NetworkOptions network = sizes(3, 4, 2, true, true);
  network.cell = Cell::simple;
  const ParameterLayout simple(network);
  EXPECT_EQ(simple.gate_rows(), 4U);
  EXPECT_EQ(simple.gate_row_size(), 8U);
  EXPECT_EQ(simple.size(), 32U + 10U);
  network.cell = Cell::gru;
  EXPECT_EQ(ParameterLayout(network).size(), 3 * 32U + 10U);
  network.cell = Cell::feedforward;
  network.direct = true;
  const ParameterLayout direct(network);
  EXPECT_EQ(direct.gate_row_size(), 4U);
  EXPECT_EQ(direct.direct_offset(), 5U);
  EXPECT_EQ(direct.output_row_size(), 8U);
  EXPECT_EQ(direct.size(), 16U + 16U);
  network.hidden = 0;
  const ParameterLayout linear(network);
  EXPECT_EQ(linear.gate_weights(), 0U);
  EXPECT_EQ(linear.direct_offset(), 1U);
  EXPECT_EQ(linear.size(), 8U);
}

// Rows follow each other without gaps: z, i, f, o, then the outputs.
TEST(Layout, RowsAreContiguous) {
  for_each_layout([](const ParameterLayout& layout) {
    std::size_t next = 0;
    for (std::size_t gate = 0; gate < layout.gates(); ++gate)
      for (std::size_t unit = 0; unit < layout.n_s; ++unit, next += layout.gate_row_size())
        EXPECT_EQ(layout.gate_row(static_cast<ParameterLayout::Gate>(gate), unit), next);
    EXPECT_EQ(next, layout.gate_weights());
    for (std::size_t k = 0; k < layout.n_d; ++k, next += layout.output_row_size())
      EXPECT_EQ(layout.output_row(k), next);
    EXPECT_EQ(next, layout.size());
  });
}

TEST(Layout, EveryPartitionHoldsEveryWeightOnce) {
  for_each_layout([](const ParameterLayout& layout) {
    for (const Partition p : {Partition::node, Partition::unit, Partition::gate, Partition::full}) {
      std::vector<int> seen(layout.size(), 0);
      std::size_t total = 0;
      for (const Block& block : layout.blocks(p)) {
        EXPECT_GT(block_size(block), 0U);
        total += block_size(block);
        for (const Segment& s : block)
          for (std::size_t n = 0; n < s.length; ++n) ++seen.at(s.offset + n);
      }
      EXPECT_EQ(total, layout.size());
      EXPECT_EQ(seen, std::vector<int>(layout.size(), 1));
    }
  });
}

TEST(Layout, BlocksOfEachPartition) {
  for_each_layout([](const ParameterLayout& layout) {
    const auto count = [&](Partition p) { return layout.blocks(p).size(); };
    const std::size_t gates = layout.n_s == 0 ? 0 : layout.gates();
    EXPECT_EQ(count(Partition::node), gates * layout.n_s + layout.n_d);
    EXPECT_EQ(count(Partition::unit), layout.n_s + layout.n_d);
    EXPECT_EQ(count(Partition::gate), gates + layout.n_d);
    EXPECT_EQ(count(Partition::full), 1U);

    const auto node = layout.blocks(Partition::node);
    const auto unit = layout.blocks(Partition::unit);
    const auto gate = layout.blocks(Partition::gate);
    for (std::size_t n = 0; n < layout.gate_rows(); ++n)
      EXPECT_EQ(block_size(node[n]), layout.gate_row_size());
    for (std::size_t u = 0; u < layout.n_s; ++u) {  // the rows of unit u in all its gates
      ASSERT_EQ(unit[u].size(), gates);
      for (std::size_t g = 0; g < gates; ++g) {
        EXPECT_EQ(unit[u][g].offset, layout.gate_row(static_cast<ParameterLayout::Gate>(g), u));
        EXPECT_EQ(unit[u][g].length, layout.gate_row_size());
      }
    }
    for (std::size_t g = 0; g < gates; ++g)
      EXPECT_EQ(block_size(gate[g]), layout.n_s * layout.gate_row_size());
    for (std::size_t k = 0; k < layout.n_d; ++k)  // W^d: a block per output everywhere
      for (const auto* blocks : {&node, &unit, &gate}) {
        const Block& b = (*blocks)[blocks->size() - layout.n_d + k];
        EXPECT_EQ(block_size(b), layout.output_row_size());
        EXPECT_EQ(b.front().offset, layout.output_row(k));
      }
  });
}

}  // namespace
}  // namespace kalstream
