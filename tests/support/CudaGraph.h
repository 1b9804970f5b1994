// Graphs of the driver, which sessions know nothing of: what a stream is asked for, kept to be run again and again.
#pragma once

#include "runtime/cuda/Device.h"

namespace sectile::test {

class CudaGraph {
public:
  /// Captures what `work` queues in the stream; none of it is run.
  CudaGraph(const cuda::Device &device, cuda::StreamHandle stream, llvm::function_ref<void()> work)
      : device(device), stream(stream) {
    const cuda::CurrentContext current(driver, device.context()); // which graphs are made in
    check(beginCapture(stream, cuda::CaptureMode::global), beginCapture);
    work();
    check(endCapture(stream, &graph), endCapture);
    check(instantiate(&executable, graph, 0), instantiate);
  }
  ~CudaGraph() {
    (void)destroyExecutable(executable);
    (void)destroy(graph);
  }
  CudaGraph(const CudaGraph &) = delete;

  /// Queues all of it in the stream.
  void launch() const {
    const cuda::CurrentContext current(driver, device.context());
    check(launchGraph(executable, stream), launchGraph);
  }

private:
  using Graph = void *;
  using Executable = void *;

  template <class Called> void check(cuda::Status status, const Called &called) const {
    driver.check(status, called, "graph");
  }

  const cuda::Device &device;
  const cuda::StreamHandle stream;
  const cuda::Driver &driver = *device.driver;
  const cuda::Library library{"libcuda.so.1"};
  const cuda::Entry<cuda::StreamHandle, cuda::CaptureMode> beginCapture{library, "cuStreamBeginCapture_v2"};
  const cuda::Entry<cuda::StreamHandle, Graph *> endCapture{library, "cuStreamEndCapture"};
  const cuda::Entry<Executable *, Graph, unsigned long long> instantiate{library, "cuGraphInstantiateWithFlags"};
  const cuda::Entry<Executable, cuda::StreamHandle> launchGraph{library, "cuGraphLaunch"};
  const cuda::Entry<Executable> destroyExecutable{library, "cuGraphExecDestroy"};
  const cuda::Entry<Graph> destroy{library, "cuGraphDestroy"};
  Graph graph = nullptr;
  Executable executable = nullptr;
};

} // namespace sectile::test
