// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/doctor_scene.h"

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::viz {

DoctorScene makeDoctorScene(const std::optional<traces::Diagnosis>& diagnosis, bool live) {
  DoctorScene scene;
  if (diagnosis && !diagnosis->problem.empty()) {
    scene.note = "The doctor could not read the recording: " + diagnosis->problem;
    return scene;
  }
  if (!diagnosis) {
    scene.note = live ? "The doctor looks at the whole run: it speaks when the run has ended. Stop "
                        "it, or let it finish."
                      : "Nothing has been looked at yet. Open a recording, or run one.";
    return scene;
  }
  scene.cards = findingCards(*diagnosis);
  scene.found = diagnosis->count(traces::Verdict::kFound);
  scene.clear = traces::isClear(*diagnosis);
  scene.headline = traces::headline(*diagnosis);
  scene.reach = diagnosis->reach;
  return scene;
}

}  // namespace ringscope::viz
