// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_state.h"

#include "viz/views/timeline/lane_sample_scene.h"

namespace ringscope::viz {

TimeWindow TimelineState::stepWindow(std::int32_t train_step) const {
  if (scene.empty()) return all();
  const StepTrack* step = scene.tracks->step(train_step);
  return (step && step->end_ns > step->begin_ns ? step->window() : all()).withMargin();
}

void TimelineState::fit(std::int32_t train_step) {
  const TimeWindow step = stepWindow(train_step);
  const bool shown = fits_step && chart.window() == step.within(all());
  show(shown ? all().withMargin() : step);
  fits_step = !shown;
}

void TimelineState::startOver() {
  chart = ChartState();
  selected.reset();
  scene.selected = scene.hovered = {};
  fits_step = true;
  scroll_panel = 0;
}

void TimelineState::follow() {
  scene.window = chart.window();
  scene.marks = chart.marks();
  scene.range = chart.range();
  scene.range_words = scene.range && scene.tracks
                          ? rangeWords(measureRange(*scene.tracks, scene.ranks, *scene.range))
                          : std::string();
  if (scene.model && !scene.range_words.empty()) scene.range_words += " · model";
}

}  // namespace ringscope::viz
