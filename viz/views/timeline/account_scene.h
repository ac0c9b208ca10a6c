// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "traces/analysis/account/critical_chain.h"
#include "traces/analysis/account/step_account.h"
#include "viz/scene/cursor.h"

namespace ringscope::viz {

using traces::AccountSection;
using traces::chainAccount;
using traces::ChainAccount;
using traces::ChainLink;
using traces::chainSection;
using traces::CriticalChain;
using traces::criticalChain;
using traces::Exposure;
using traces::kTimeUses;
using traces::LayerAccount;
using traces::makeStepAccount;
using traces::RankAccount;
using traces::recordedChain;
using traces::StepAccount;
using traces::TimeUse;
using traces::whyNoRecordedChain;

/// Accounts for the cursor's training step of the cursor's group.
StepAccount makeStepAccount(const traces::Trace& trace, const Cursor& cursor);

}  // namespace ringscope::viz
