// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// Sets the number of ranks of a job whose files do not state it. A group that an importer made of
/// all ranks grows with it.
void setWorldSize(ProfiledJob& job, std::int32_t size);

/// Gives groups whose members were inferred those of the group of that name in `named`.
void takeMembers(const ProfiledJob& named, ProfiledJob& job);

/// Gives the groups of `job` the names of the groups with the same members in `named`, where these
/// are unique. Formats name the same process group differently.
void renameGroups(const ProfiledJob& named, ProfiledJob& job);

}  // namespace ringscope::traces
