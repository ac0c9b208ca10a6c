// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/start_control.h"

#include "traces/format/core/error.h"

namespace ringscope::viz {

StartControl::StartControl(const WindowParts& parts, const Targets& targets, bool has_engine,
                           QObject* parent)
    : QObject(parent), parts_(parts), to_(targets) {
  StartPage* page = parts.page.start();
  page->setEngine(has_engine);
  connect(page, &StartPage::exploreRequested, this,
          [this] { to_.runs.start(parts_.page.runPanel()->config()); });
  connect(page, &StartPage::sampleRequested, &to_.recordings, &RecordingControl::open);
  connect(page, &StartPage::openRequested, &to_.recordings, &RecordingControl::chooseFile);
  connect(page, &StartPage::listenRequested, this, &StartControl::listen);
  connect(&to_.job, &JobLink::changed, this,
          [this, page] { page->setInvitation(to_.job.invitation()); });
}

void StartControl::listen() {
  try {
    to_.jobs.listen({});
  } catch (const Error& error) {
    parts_.page.status()->setProblem(error.what());
  }
}

}  // namespace ringscope::viz
