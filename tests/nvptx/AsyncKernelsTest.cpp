// What NVIDIA's assembler makes of kernels with rings, roles and products in flight; no GPU is needed.
#include "tests/nvptx/AsyncKernels.h"

#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/Disassemble.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include <catch2/catch.hpp>

#include <map>
#include <regex>
#include <sstream>

using namespace sectile;

namespace {

/// sm_90a, if this machine has an assembler.
std::optional<Target> hopper() {
  Target target = valueOrThrow(resolveTarget("nvptx:sm_90a"));
  if (target.nvidia.assembler.kind != Target::Nvidia::Assembler::Kind::none)
    return target;
  WARN("skipped: neither libnvJitLink.so nor ptxas is on this machine");
  return std::nullopt;
}

/// Fails if the assembler serializes products or ignores a budget of registers.
std::string assembled(const std::string &block, const Target &target) {
  LoweredKernel kernel(block, target);
  return valueOrThrow(nvptx::assemble(valueOrThrow(nvptx::emitPtx(kernel.module(), target)), target));
}

/// The instructions, as text, of the first loop with matrix products: from a label to the branch back to it.
std::vector<std::string> mainLoop(const std::string &listing) {
  static const std::regex line(R"(^\s+/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?([A-Z].*))"), label(R"(^(\.\w+):)"),
      branch(R"(^BRA.*\((\.\w+)\))");
  std::vector<std::string> all;
  std::map<std::string, size_t> labels;
  std::istringstream lines(listing);
  for (std::string text; std::getline(lines, text);) {
    std::smatch match;
    if (std::regex_search(text, match, label))
      labels[match[1]] = all.size();
    if (!std::regex_search(text, match, line))
      continue;
    all.push_back(match[1]);
    if (!std::regex_search(all.back(), match, branch) || !labels.contains(match[1]))
      continue;
    std::vector<std::string> loop(all.begin() + static_cast<std::ptrdiff_t>(labels[match[1]]), all.end());
    if (std::any_of(loop.begin(), loop.end(), [](auto &text) { return text.starts_with("HGMMA"); }))
      return loop;
  }
  return {};
}

} // namespace

TEST_CASE("the documented example of rings, roles and products assembles as it is written") {
  const std::optional<Target> target = hopper();
  if (!target)
    return;
  const std::string cubin = assembled(documentedExample(), *target);
  CHECK(valueOrThrow(nvptx::readCubin(cubin, "products")).stackBytes == 0);
}

TEST_CASE("attention runs its softmax beside a product") {
  const std::optional<Target> target = hopper();
  if (!target)
    return;
  const std::string cubin = assembled(attentionLoop(), *target);
  const nvptx::Usage usage = valueOrThrow(nvptx::readCubin(cubin, "attention"));
  CHECK(usage.stackBytes == 0);
  CHECK(usage.registers == 168); // of 384 threads, before they exchange some

  const std::optional<std::string> listing = valueOrThrow(nvptx::disassemble(cubin));
  if (!listing) {
    WARN("the listing is not looked at: neither nvdisasm nor cuobjdump is on this machine");
    return;
  }
  const std::vector<std::string> loop = mainLoop(*listing);
  REQUIRE(!loop.empty());
  auto place = [&](const std::string &text) {
    return std::find_if(loop.begin(), loop.end(), [&](auto &line) { return line.starts_with(text); });
  };
  const auto scores = place("WARPGROUP.DEPBAR.LE gsb0, 0x1"), output = place("WARPGROUP.DEPBAR.LE gsb0, 0x0");
  REQUIRE((scores < output && output < loop.end()));
  auto count = [](auto begin, auto end, const std::string &name) {
    return std::count_if(begin, end, [&](auto &line) { return line.starts_with(name); });
  };
  CHECK(count(loop.begin(), scores, "HGMMA") == 16); // both products have begun
  CHECK(count(scores, loop.end(), "HGMMA") == 0);
  CHECK(count(scores, output, "MUFU.EX2") == 66); // of 64 scores and two rows
  CHECK(count(loop.begin(), loop.end(), "MUFU.EX2") == 66);
  CHECK(count(output, loop.end(), "F2FP") > 24); // the product has read the last operand when the next is packed
  CHECK(count(loop.begin(), loop.end(), "LDL") + count(loop.begin(), loop.end(), "STL") == 0);
}
