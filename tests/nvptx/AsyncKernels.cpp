#include "tests/nvptx/AsyncKernels.h"

#include "compiler/ir/Tile.h"
#include "compiler/targets/Pipelines.h"
#include "compiler/targets/nvptx/Pipeline.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

namespace sectile {

static std::string contentsOf(const std::string &path) {
  std::ifstream file(std::string(SECTILE_SOURCES) + "/" + path);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string documentedExample() {
  const std::string text = contentsOf("compiler/ir/BlockAsync.td"), fence = "```mlir\n";
  const size_t begin = text.find(fence), end = text.find("```\n", begin + fence.size());
  REQUIRE(end != std::string::npos);
  return text.substr(begin + fence.size(), end - begin - fence.size());
}

std::string attentionLoop() { return contentsOf("tests/ir/lower/nvidia/async_attention.mlir"); }

static mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  ir::registerTileDialects(registry);
  registerTargetDialects(registry);
  return registry;
}

LoweredKernel::LoweredKernel(const std::string &block, const Target &target) : context(dialects()) {
  context.loadAllAvailableDialects(); // translation to LLVM IR asks those that are loaded, NVVM's too
  owner = mlir::parseSourceString<mlir::ModuleOp>(block, &context);
  REQUIRE(owner);
  mlir::PassManager passes(&context);
  passes.addPass(createCheckRings());
  passes.addPass(createPlanShared({.limit = target.nvidia.sharedPerBlock}));
  nvptx::buildBlockToLlvm(passes, {target, Schedule{}});
  REQUIRE(mlir::succeeded(passes.run(*owner)));
}

std::string LoweredKernel::text() {
  std::string result;
  llvm::raw_string_ostream os(result);
  owner->print(os);
  return result;
}

} // namespace sectile
