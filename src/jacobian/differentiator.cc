#include "jacobian/differentiator.h"

#include "jacobian/rtrl.h"
#include "jacobian/tbptt.h"

namespace kalstream {

std::unique_ptr<Differentiator> make_differentiator(const NetworkOptions& network) {
  if (network.derivative == Derivative::rtrl) return std::make_unique<Rtrl>(network);
  return std::make_unique<Tbptt>(network);
}

}  // namespace kalstream
