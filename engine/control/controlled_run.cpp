// SPDX-License-Identifier: Apache-2.0
#include "engine/control/controlled_run.h"

#include "engine/control/tensor_read.h"

namespace ringscope::engine {

using nlohmann::json;

RunHere::RunHere(Gate& gate, traces::Recorder& recorder, const LiveTensors& live,
                 RunSwitches& switches)
    : recorder_(recorder), live_(live), switches_(switches) {
  switches_.setNonFiniteSink([&gate] { gate.pause(); });
}

RunHere::~RunHere() {
  switches_.setNonFiniteSink({});
}

json RunHere::tensors() {
  return listLiveTensors(live_);
}

json RunHere::read(const json& request) {
  return readLiveTensor(live_, request);
}

std::int32_t RunHere::change(const std::string& cmd, const std::string& mistake) {
  return cmd == "inject" ? switches_.inject(mistake) : switches_.lift(mistake);
}

void RunHere::setCapture(const std::string& policy) {
  switches_.setCapture(CapturePolicy::parse(policy));
}

}  // namespace ringscope::engine
