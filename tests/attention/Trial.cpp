#include "tests/attention/Trial.h"

#include "kernels/reference/Numbers.h"
#ifdef SECTILE_EMULATOR
#include "tests/attention/Emulated.h"
#endif
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

namespace sectile::test {

Session &session() {
  static Session session([] {
    Options options = Options::fromEnvironment();
    options.target = emulatedTarget().value_or(targetUnderTest());
    if (emulatedTarget())
      options.toolkit = "none"; // its code is not assembled
    return options;
  }());
  return session;
}

Stream stream() { return isCudaTarget(targetUnderTest()) ? Stream::cuda(nullptr) : Stream::host(); }

bool reduced() { return targetUnderTest().starts_with("interpret") || isEmulated(); }

void attend(Session &session, const ArrayView &q, const ArrayView &k, const ArrayView &v, const ArrayView &out,
            const std::optional<ArrayView> &lse, const AttentionOptions &options, const Schedule &schedule) {
#ifdef SECTILE_EMULATOR
  if (emulatedTarget()) {
    emulateAttention(session, q, k, v, out, lse, options, schedule);
    return;
  }
#endif
  attentionForward(session, stream(), q, k, v, out, lse, options, schedule);
}

void runAttention(Session &session, const ArrayView &q, const ArrayView &k, const ArrayView &v, const ArrayView &out,
                  const std::optional<ArrayView> &lse, const AttentionOptions &options, const Schedule &schedule) {
  std::vector<ArrayView> arrays{q, k, v, out};
  if (lse)
    arrays.push_back(*lse);
  AttentionOptions moved = options;
  std::optional<ArrayView> *const operands[] = {&moved.alibiSlopes, &moved.bias,       &moved.sink,
                                                &moved.keyLengths,  &moved.queryScale, &moved.keyScale,
                                                &moved.valueScale};
  for (const std::optional<ArrayView> *operand : operands)
    if (*operand)
      arrays.push_back(**operand);

  const TargetMemory memory(targetUnderTest(), arrays);
  const auto resident = [&](const ArrayView &array) { return memory.resident(array); };
  for (std::optional<ArrayView> *operand : operands)
    if (*operand)
      *operand = resident(**operand);
  const std::optional<ArrayView> movedLse = lse ? std::optional(resident(*lse)) : std::nullopt;
  attend(session, resident(q), resident(k), resident(v), resident(out), movedLse, moved, schedule);
  memory.fetch();
}

Trial::Trial(const Shape &s, uint64_t seed, double deviation)
    : q(s.type, {s.batch, s.seqlenQ, s.heads, s.headDim}, s.q),
      k(s.type, {s.batch, s.seqlenK, s.headsKv, s.headDim}, s.k),
      v(s.type, {s.batch, s.seqlenK, s.headsKv, s.headDimV}, s.v),
      out(isStorageOnly(s.type) ? s.outType : s.type, {s.batch, s.seqlenQ, s.heads, s.headDimV}, s.out),
      lse(Type::f32, {s.batch, s.heads, s.seqlenQ}, s.lse) {
  Random random(seed);
  for (Tensor *input : {&q, &k, &v})
    input->randomize(random, deviation);
}

void Trial::run() {
  out.poison();
  lse.poison();
  runAttention(session(), q, k, v, out, lse.view(), options, schedule);
}

reference::Verdict Trial::judge() const {
  return reference::judge(out, lse.view(), reference::attention(q, k, v, options, functions),
                          reference::naiveAttention(q, k, v, options, functions));
}

void Trial::check() {
  run();
  const reference::Verdict verdict = judge();
  INFO("worst: " << verdict.worst);
  INFO("bound = 2 * " << verdict.naiveError << " (naive error) + 1e-5");
  CHECK(verdict.error <= verdict.bound());
  CHECK(verdict.lseError <= reference::Verdict::lseBound);
  CHECK(out.guardsIntact());
  CHECK(lse.guardsIntact());
}

void Trial::checkMaps() const {
  const auto executable = prepareAttentionForward(session(), q, k, v, out, lse.view(), options, schedule);
  const Resources &resources = executable->resources();
  CHECK(std::ranges::any_of(resources, [](const auto &r) { return r.first == "tensor_maps" && r.second == 3; }));
}

double Trial::outAt(int64_t batch, int64_t query, int64_t head, int64_t column) const {
  return reference::element(out, batch, query, head, column);
}
double Trial::lseAt(int64_t batch, int64_t head, int64_t query) const {
  return reference::element(lse, batch, head, query);
}

std::string describe(const Shape &s, const AttentionOptions &o, const Schedule &schedule) {
  std::ostringstream text;
  text << typeName(s.type) << " b" << s.batch << " sq" << s.seqlenQ << " sk" << s.seqlenK << " h" << s.heads << "/"
       << s.headsKv << " d" << s.headDim << "/" << s.headDimV << (o.causal ? " causal" : "")
       << (o.alignment == MaskAlignment::topLeft ? " topLeft" : "") << " window " << o.windowLeft << ","
       << o.windowRight;
  if (isStorageOnly(s.type))
    text << " out " << typeName(s.outType);
  if (o.scale)
    text << " scale " << *o.scale;
  if (o.softcap > 0)
    text << " softcap " << o.softcap;
  if (o.dropout > 0)
    text << " dropout " << o.dropout;
  const std::pair<const char *, bool> rest[] = {{" alibi", o.alibiSlopes.has_value()},
                                                {" bias", o.bias.has_value()},
                                                {" sink", o.sink.has_value()},
                                                {" keyLengths", o.keyLengths.has_value()},
                                                {" queryScale", o.queryScale.has_value()},
                                                {" keyScale", o.keyScale.has_value()},
                                                {" valueScale", o.valueScale.has_value()},
                                                {" modifier", o.scoreModifier != nullptr},
                                                {" predicate", o.maskPredicate != nullptr}};
  for (const auto &[name, on] : rest)
    text << (on ? name : "");
  text << " schedule " << toString(schedule);
  return text.str();
}

} // namespace sectile::test
