// A kernel from the text of its vector stage, compiled and loaded: for tests of what lies below that stage.
#pragma once

#include "compiler/ir/Tile.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/cpu/Cpu.h"
#include "runtime/host/HostCode.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <memory>
#include <string>
#include <vector>

namespace sectile::test {

struct CompiledText {
  std::vector<Stage> stages;
  CompiledKernel kernel;
};

inline llvm::Expected<CompiledText> compileVectorStage(const std::string &text, const Target &target,
                                                       StageSink *sink = nullptr) {
  mlir::DialectRegistry registry;
  ir::registerTileDialects(registry);
  cpu::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return userError("the test's module does not parse");
  StageRecorder stages(sink);
  llvm::Expected<CompiledKernel> kernel =
      cpu::compile(std::move(module), target, valueOrThrow(completeSchedule({}, target)), stages);
  if (!kernel)
    return kernel.takeError();
  return CompiledText{stages.take(), std::move(*kernel)};
}

/// An elementwise kernel from array `in` to array `out`, `body` computing %r from %v.
///   elementwise("f32", "f32", 8, "%r = math.exp2 %v : !in")   with !in and !out standing for the types of %v and %r
/// An f8 lies in memory as i8.
inline std::string elementwise(const std::string &in, const std::string &out, int lanes, const std::string &body) {
  auto type = [&](const std::string &element) {
    return lanes == 0 ? element : "vector<" + std::to_string(lanes) + "x" + element + ">";
  };
  auto memory = [&](const std::string &element) { return type(element.starts_with("f8") ? "i8" : element); };
  std::string cast = in.starts_with("f8") ? "arith.bitcast %m : " + memory(in) + " to " + type(in)
                                          : "llvm.bitcast %m : " + memory(in) + " to " + memory(in);
  std::string uncast = out.starts_with("f8") ? "arith.bitcast %r : " + type(out) + " to " + memory(out)
                                             : "llvm.bitcast %r : " + memory(out) + " to " + memory(out);
  std::string element = in.starts_with("f8") ? "i8" : in, outElement = out.starts_with("f8") ? "i8" : out;
  return "!in = " + type(in) + "\n!out = " + type(out) + R"(
func.func @kernel(%arguments: !llvm.ptr, %x: i32, %y: i32, %z: i32, %scratch: !llvm.ptr)
    attributes {sectile.scratch_bytes = 0 : i64} {
  %zero = arith.constant 0 : i64
  %step = arith.constant )" +
         std::to_string(lanes == 0 ? 1 : lanes) + R"( : i64
  %pn = llvm.getelementptr %arguments[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %pout = llvm.getelementptr %arguments[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %in = llvm.load %arguments : !llvm.ptr -> !llvm.ptr
  %n = llvm.load %pn : !llvm.ptr -> i64
  %out = llvm.load %pout : !llvm.ptr -> !llvm.ptr
  scf.for %i = %zero to %n step %step : i64 {
    %a = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         element + R"(
    %m = llvm.load %a {alignment = 1 : i64} : !llvm.ptr -> )" +
         memory(in) + "\n    %v = " + cast + "\n    " + body + "\n    %u = " + uncast + R"(
    %b = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         outElement + R"(
    llvm.store %u, %b {alignment = 1 : i64} : )" +
         memory(out) + R"(, !llvm.ptr
  }
  return
}
)";
}

/// A loaded elementwise kernel; throws the public errors. The arrays have a multiple of `lanes` elements.
class ElementwiseKernel {
public:
  ElementwiseKernel(const std::string &text, const Target &target)
      : compiled(valueOrThrow(compileVectorStage(text, target))),
        code(valueOrThrow(HostCode::load(compiled.stages.back().text, compiled.kernel.entry))) {}

  void operator()(const void *in, void *out, size_t count) const {
    const int64_t arguments[] = {reinterpret_cast<int64_t>(in),  static_cast<int64_t>(count), 1,
                                 reinterpret_cast<int64_t>(out), static_cast<int64_t>(count), 1};
    code->entry()(arguments, 0, 0, 0, nullptr);
  }

private:
  CompiledText compiled;
  std::shared_ptr<HostCode> code;
};

/// The targets whose code this machine can run: itself, and itself as a processor of AVX2 only.
inline std::vector<Target> runnableTargets() {
  Target host = valueOrThrow(resolveTarget("cpu"));
  std::vector<Target> targets{host};
  if (host.vectorBits == 512)
    targets.push_back(valueOrThrow(resolveTarget("cpu:x86-64-v3")));
  return targets;
}

} // namespace sectile::test
