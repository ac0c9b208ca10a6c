// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/plan/head_split.h"
#include "traces/plan/mask.h"
#include "traces/plan/mesh.h"
#include "traces/plan/pieces_for.h"
#include "traces/plan/planned_schedule.h"
#include "traces/plan/rank_order.h"
#include "traces/plan/schedule.h"
#include "traces/plan/shard_layout.h"

/// The names of the plan (traces/plan) that engine code uses.
namespace ringscope::engine {

using traces::Balance;
using traces::cutDiagonal;
using traces::cutDiagonalIntoStrips;
using traces::everyRank;
using traces::ExpectedHops;
using traces::expectedHops;
using traces::GroupRank;
using traces::HeadSplit;
using traces::HybridPlace;
using traces::kTile;
using traces::Mask;
using traces::Mesh;
using traces::MeshPlace;
using traces::Order;
using traces::Piece;
using traces::piecesFor;
using traces::PlannedAttention;
using traces::plannedSchedules;
using traces::ranksFrom;
using traces::ringBackwardSchedule;
using traces::RingSchedule;
using traces::ringSchedule;
using traces::RingStage;
using traces::RingStep;
using traces::Rotate;
using traces::roundRing;
using traces::ShardLayout;
using traces::ShardRun;
using traces::TokenIndex;
using traces::TokenRun;
using traces::whyEmpty;
using traces::WorldRank;

}  // namespace ringscope::engine
