// The public face of the recorder: Trace, its ranges, and Tile's own questions.
#include "compiler/dsl/Recorder.h"

using namespace sectile;
using namespace sectile::dsl;

Type Tile::type() const { return value->type; }
const Shape &Tile::shape() const { return value->shape; }

Trace::~Trace() = default;

View Trace::input(std::string_view name, Type type, int rank, Where where) {
  return recorder.declareView(where, name, Parameter::Access::input, type, rank);
}
View Trace::output(std::string_view name, Type type, int rank, Where where) {
  return recorder.declareView(where, name, Parameter::Access::output, type, rank);
}
View Trace::inout(std::string_view name, Type type, int rank, Where where) {
  return recorder.declareView(where, name, Parameter::Access::inout, type, rank);
}
Tile Trace::scalar(std::string_view name, Type type, Where where) { return recorder.declareScalar(where, name, type); }

const Schedule &Trace::schedule() const { return recorder.schedule(); }

Tile Trace::program(int axis, Where where) {
  Call call(recorder, "program", where);
  if (axis < 0 || axis > 2)
    call.fail("needs a grid axis from 0 to 2, got " + std::to_string(axis));
  return call.result(ir::ProgramOp::create(call.builder(), call.loc(), axis));
}

Tile Trace::iota(int64_t n, Where where) {
  Call call(recorder, "iota", where);
  return call.result(ir::IotaOp::create(call.builder(), call.loc(), call.tileType(Type::i32, {n})));
}

Tile Trace::full(double value, const Shape &shape, Type type, Where where) {
  Call call(recorder, "full", where);
  return call.result(call.number(numberOf(value, type), type, shape));
}

//===-- loops ---------------------------------------------------------------------------------------------------===//

Trace::Range Trace::range(Operand begin, Operand end, int64_t step, Where where) {
  Call call(recorder, "range", where, {begin, end});
  if (step < 1 || step > std::numeric_limits<int32_t>::max())
    call.fail("needs a step from 1 to 2147483647, got " + std::to_string(step));
  Input stepNumber;
  stepNumber.integer = step;
  return recorder.declareLoop({where, call.index(0), call.index(1), call.number(stepNumber, Type::i32, {})});
}

Trace::Range::~Range() {
  if (loop.state == Loop::State::open)
    recorder.abandon(loop);
}

Trace::Range::Iterator Trace::Range::begin() {
  recorder.openLoop(loop);
  return Iterator(this);
}

Trace::Range::Iterator Trace::Range::end() { return Iterator(nullptr); }

Tile Trace::Range::Iterator::operator*() const { return range->recorder.wrap(*range->loop.index); }

Trace::Range::Iterator &Trace::Range::Iterator::operator++() {
  range->recorder.closeLoop(range->loop);
  range = nullptr;
  return *this;
}

bool Trace::Range::Iterator::operator!=(const Iterator &other) const { return range != other.range; }

//===-- conditions ----------------------------------------------------------------------------------------------===//

void Trace::beginWhen(Operand condition) {
  Where where = Recorder::read(condition).where;
  Call call(recorder, "when", where, {condition});
  const Value &value = call.tile(0);
  if (value.type != Type::i1 || !value.shape.empty())
    call.fail("needs an i1 scalar, got " + describe(value));
  recorder.openCondition(where, value.ir);
}

void Trace::beginOtherwise() { recorder.openOtherwise(); }
void Trace::endWhen() { recorder.closeCondition(); }
