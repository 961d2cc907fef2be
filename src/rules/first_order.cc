#include "kalstream/rules/first_order.h"

#include "rules/rule.h"
#include "update/first_order.h"

namespace kalstream {

void Sgd::validate() const { validate_rule(*this); }
void RmsProp::validate() const { validate_rule(*this); }
void Adam::validate() const { validate_rule(*this); }

const RuleInfo<Sgd>& Sgd::info() {
  static const RuleInfo<Sgd> info{
      .learners = {{"sgd", "stochastic gradient descent"}},
      .fields = [](Sgd& o) -> Fields {
        return {{"learning_rate", "step size", &o.learning_rate, positive}};
      },
      .update_rule = make_rule,
  };
  return info;
}

const RuleInfo<RmsProp>& RmsProp::info() {
  static const RuleInfo<RmsProp> info{
      .learners = {{"rmsprop", "RMSprop"}},
      .fields = [](RmsProp& o) -> Fields {
        return {{"learning_rate", "step size", &o.learning_rate, positive},
                {"decay", "of the mean squared gradient", &o.decay, fraction},
                {"epsilon", "added to the root of it", &o.epsilon, positive}};
      },
      .update_rule = make_rule,
  };
  return info;
}

const RuleInfo<Adam>& Adam::info() {
  static const RuleInfo<Adam> info{
      .learners = {{"adam", "Adam"}},
      .fields = [](Adam& o) -> Fields {
        return {{"learning_rate", "step size", &o.learning_rate, positive},
                {"first_decay", "of the mean gradient", &o.first_decay, fraction},
                {"second_decay", "of the mean squared gradient", &o.second_decay, fraction},
                {"epsilon", "added to the root of it", &o.epsilon, positive}};
      },
      .update_rule = make_rule,
  };
  return info;
}

}  // namespace kalstream
