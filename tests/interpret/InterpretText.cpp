#include "tests/interpret/InterpretText.h"

#include "tests/support/Arguments.h"

#include "compiler/interpret/Interpreter.h"
#include "compiler/support/Diagnostic.h"

#include <algorithm>
#include <cmath>

using namespace sectile;
using namespace sectile::test;

std::string test::irName(Type type) {
  switch (type) {
  case Type::f8e4m3:
    return "f8E4M3FN";
  case Type::f8e5m2:
    return "f8E5M2";
  default:
    return std::string(typeName(type));
  }
}

namespace {

/// Completes the parameters of a kernel: `%x: f32` becomes `%x: f32 {tile.name = "x", tile.access = "scalar"}`.
std::string withAttributes(const std::string &text) {
  const size_t open = text.find('('), close = text.find(')');
  std::string result = text.substr(0, open);
  for (size_t at = open; at < close;) {
    const size_t next = std::min(text.find(',', at + 1), close);
    const std::string parameter = text.substr(at, next - at);
    const size_t percent = parameter.find('%'), colon = parameter.find(':');
    const bool isView = parameter.find("!tile.view") != std::string::npos;
    result += parameter + " {tile.name = \"" + parameter.substr(percent + 1, colon - percent - 1) +
              "\", tile.access = \"" + (isView ? "inout" : "scalar") + "\"}";
    at = next;
  }
  return result + text.substr(close);
}

} // namespace

void test::interpretText(const std::string &text, std::vector<Argument> arguments, Grid grid) {
  const TracedKernel kernel = TracedKernel::parse(withAttributes(text), "test");
  const std::vector<int64_t> words = packArguments(arguments);
  for (int32_t z = 0; z < grid.z; ++z)
    for (int32_t y = 0; y < grid.y; ++y)
      for (int32_t x = 0; x < grid.x; ++x)
        if (llvm::Error error = interpret(kernel, words.data(), x, y, z))
          throwError(std::move(error));
}

Values test::evaluate(const std::string &op, Type type, const std::vector<Values> &operands) {
  return evaluate(op, type, operands, type);
}

Values test::evaluate(const std::string &op, Type type, const std::vector<Values> &operands, Type result) {
  const int64_t n = static_cast<int64_t>(operands.front().size());
  const auto tensor = [n](Type t) { return "tensor<" + std::to_string(n) + "x" + irName(t) + ">"; };
  const auto view = [](Type t) { return "!tile.view<1x" + irName(t) + ">"; };
  std::string parameters, loads;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    parameters += "%view_" + name + ": " + view(type) + ", ";
    loads += "%" + name + " = tile.load %view_" + name + "[%c0] : " + view(type) + " -> " + tensor(type) + "\n";
    arguments.push_back(buffers.emplace_back(type, Index{n}, operands[i]).view());
  }
  Buffer out(result, {n});
  arguments.push_back(out.view());
  std::string body = op;
  for (size_t at; (at = body.find('$')) != std::string::npos;)
    body.replace(at, 1, tensor(type));
  interpretText("tile.kernel @test(" + parameters + "%out: " + view(result) + ") {\n%c0 = arith.constant 0 : i32\n" +
                    loads + body + "\ntile.store %r, %out[%c0] : " + tensor(result) + ", " + view(result) +
                    "\ntile.return\n}",
                arguments);
  return out.values();
}

bool test::identical(const Values &a, const Values &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::isnan(a[i]) ? !std::isnan(b[i]) : a[i] != b[i] || std::signbit(a[i]) != std::signbit(b[i]))
      return false;
  return true;
}
