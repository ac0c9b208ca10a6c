// SPDX-License-Identifier: Apache-2.0
#include "engine/control/controlled_run.h"

#include "engine/control/tensor_read.h"

namespace ringscope::engine {

RunHere::RunHere(Gate& gate, traces::Recorder& recorder, const LiveTensors& live,
                 RunSwitches& switches)
    : recorder_(recorder), live_(live), switches_(switches) {
  switches_.capture().setNonFiniteSink([&gate] { gate.pause(); });
}

RunHere::~RunHere() {
  switches_.capture().setNonFiniteSink({});
}

traces::control::TensorList RunHere::tensors() {
  return listLiveTensors(live_);
}

traces::control::TensorSlice RunHere::read(const traces::control::ReadTensor& asked) {
  return readLiveTensor(live_, asked);
}

void RunHere::setCapture(const std::string& policy) {
  switches_.capture().set(CapturePolicy::parse(policy));
}

}  // namespace ringscope::engine
