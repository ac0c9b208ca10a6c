// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which mutex guards what, for Clang's -Wthread-safety; other compilers see nothing. `scripts/tidy
// --locks` checks it.
#if defined(__clang__)
#define RINGSCOPE_ANNOTATE(x) __attribute__((x))
#else
#define RINGSCOPE_ANNOTATE(x)
#endif

/// A class whose objects are held and let go, as a mutex is.
#define RINGSCOPE_CAPABILITY(name) RINGSCOPE_ANNOTATE(capability(name))
/// A class whose objects hold a mutex while they live.
#define RINGSCOPE_SCOPED_CAPABILITY RINGSCOPE_ANNOTATE(scoped_lockable)
/// A member that is read and written only under the mutex.
#define RINGSCOPE_GUARDED_BY(mutex) RINGSCOPE_ANNOTATE(guarded_by(mutex))
/// A function that is called only under the mutex.
#define RINGSCOPE_REQUIRES(mutex) RINGSCOPE_ANNOTATE(requires_capability(mutex))
/// A function that takes the mutex itself, and must not be called under it.
#define RINGSCOPE_EXCLUDES(mutex) RINGSCOPE_ANNOTATE(locks_excluded(mutex))
/// A function that returns with the mutex taken, or let go.
#define RINGSCOPE_ACQUIRE(...) RINGSCOPE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define RINGSCOPE_RELEASE(...) RINGSCOPE_ANNOTATE(release_capability(__VA_ARGS__))
/// A function that the analysis leaves out, with the reason beside it.
#define RINGSCOPE_UNCHECKED RINGSCOPE_ANNOTATE(no_thread_safety_analysis)
