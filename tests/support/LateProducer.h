// A kernel that the compiler did not make, which takes its time: what comes after it in a stream must wait for it.
#pragma once

#include "compiler/support/Diagnostic.h"
#include "runtime/cuda/Launch.h"

namespace sectile::test {

class LateProducer {
public:
  explicit LateProducer(std::shared_ptr<const cuda::Devices> devices) {
    entry.name = entry.artifact.entry = "late";
    entry.target = "nvptx:sm_75";
    entry.artifact.stages = {{"ptx", "kernel.ptx", ptx}};
    entry.artifact.resources = {{"threads", 32}, {"shared_bytes", 0}};
    entry.artifact.parameters = {{"x", Parameter::Access::output, Type::f32, 1},
                                 {"value", Parameter::Access::scalar, Type::f32, 0}};
    kernel = valueOrThrow(cuda::Kernel::create(std::move(devices), entry));
  }
  LateProducer(const LateProducer &) = delete;

  /// x = value for all of x, which is contiguous f32: 50 ms after what is in the stream already.
  void launch(const cuda::Device &device, cuda::StreamHandle stream, const ArrayView &x, float value) const {
    const Argument arguments[] = {x, value};
    ArgumentWords words;
    bindArguments("late", entry.artifact.parameters, arguments, words);
    cuda::launch(*kernel, kernel->load(device), stream, {1}, entry.artifact.parameters, arguments, words);
  }

private:
  static constexpr const char *ptx = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry late(.param .align 8 .b8 arguments[56]) .reqntid 32
{
  .reg .pred %p<3>;
  .reg .b32 %r<2>;
  .reg .f32 %f<2>;
  .reg .b64 %rd<8>;
  mov.u64 %rd1, %globaltimer;
  add.u64 %rd2, %rd1, 50000000;
wait:
  mov.u64 %rd3, %globaltimer;
  setp.lt.u64 %p1, %rd3, %rd2;
  @%p1 bra wait;
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %rd4, %r1;
  ld.param.u64 %rd5, [arguments];
  ld.param.u64 %rd6, [arguments+8];
  ld.param.f32 %f1, [arguments+24];
fill:
  setp.ge.u64 %p2, %rd4, %rd6;
  @%p2 bra done;
  shl.b64 %rd7, %rd4, 2;
  add.u64 %rd7, %rd5, %rd7;
  st.global.f32 [%rd7], %f1;
  add.u64 %rd4, %rd4, 32;
  bra fill;
done:
  ret;
}
)";

  CacheEntry entry;
  std::unique_ptr<cuda::Kernel> kernel;
};

} // namespace sectile::test
