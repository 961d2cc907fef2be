// Where each weight lives in the flat parameter vector θ.
#pragma once

#include <cstddef>
#include <vector>

#include "kalstream/options.h"

namespace kalstream {

/// A run of consecutive weights in θ.
struct Segment {
  std::size_t offset;
  std::size_t length;
};

/// The weights of one covariance block, in block order.
using Block = std::vector<Segment>;

std::size_t block_size(const Block& block);

/// θ = the gate matrix W, (4 n_s) × (n_x + n_s), row after row in the order z, i, f, o, then
/// W^d, n_d × (n_s [+ 1] [+ n_inputs]). Row i of either *is* node i, so each θ_i is contiguous.
/// A GRU has three, r, f, z; simple cells have one gate, feed-forward ones no columns for y either.
struct ParameterLayout {
  enum Gate : std::size_t { z = 0, i = 1, f = 2, o = 3 };          // of an LSTM
  enum GruGate : std::size_t { gru_r = 0, gru_f = 1, gru_z = 2 };  // of a GRU

  explicit ParameterLayout(const NetworkOptions& network)
      : cell(network.cell),
        n_inputs(network.inputs),
        n_x(network.inputs + (network.input_bias ? 1 : 0)),
        n_s(network.hidden),
        n_d(network.outputs),
        output_bias(network.output_bias),
        direct(network.direct) {}

  std::size_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  std::size_t gate_rows() const { return gates() * n_s; }
  std::size_t gate_row_size() const { return n_x + (cell == Cell::feedforward ? 0 : n_s); }
  std::size_t direct_offset() const { return n_s + (output_bias ? 1 : 0); }  ///< in an output row
  std::size_t output_row_size() const { return direct_offset() + (direct ? n_inputs : 0); }
  std::size_t gate_weights() const { return gate_rows() * gate_row_size(); }
  std::size_t size() const { return gate_weights() + n_d * output_row_size(); }

  std::size_t gate_row(std::size_t gate, std::size_t unit) const {
    return (gate * n_s + unit) * gate_row_size();
  }
  std::size_t output_row(std::size_t k) const { return gate_weights() + k * output_row_size(); }

  /// The blocks of a partition; together they hold every weight once.
  std::vector<Block> blocks(Partition partition) const;

  Cell cell;
  std::size_t n_inputs;  // of a sample
  std::size_t n_x;       // the same with the constant, if there is one
  std::size_t n_s;
  std::size_t n_d;
  bool output_bias;
  bool direct;
};

}  // namespace kalstream
