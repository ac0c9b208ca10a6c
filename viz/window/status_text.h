// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "viz/link/engine_link.h"
#include "viz/session/session.h"

namespace ringscope::viz {

/// "sample, 2 layers · 256 tokens · 4 ranks · ring, head_tail, causal": what is on show.
QString headlineText(const Session& session);

/// "live · 4 ranks on 2 cores … · 1,204 events · 0 dropped · worst 0.9× limit (layer 2, dk)".
QString statusText(const Session& session, const EngineLink& engine);

}  // namespace ringscope::viz
