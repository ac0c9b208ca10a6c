// SPDX-License-Identifier: Apache-2.0
#pragma once

// Annotations that say which mutex guards what, for Clang's -Wthread-safety; other compilers ignore
// them. `scripts/tidy --locks` runs the analysis.
#if defined(__clang__)
#define RINGSCOPE_ANNOTATE(x) __attribute__((x))
#else
#define RINGSCOPE_ANNOTATE(x)
#endif

/// A class whose objects are acquired and released, such as a mutex.
#define RINGSCOPE_CAPABILITY(name) RINGSCOPE_ANNOTATE(capability(name))
/// A class whose objects hold a mutex during their lifetime.
#define RINGSCOPE_SCOPED_CAPABILITY RINGSCOPE_ANNOTATE(scoped_lockable)
/// A member that is read and written only while the mutex is held.
#define RINGSCOPE_GUARDED_BY(mutex) RINGSCOPE_ANNOTATE(guarded_by(mutex))
/// A function that is called only while the mutex is held.
#define RINGSCOPE_REQUIRES(mutex) RINGSCOPE_ANNOTATE(requires_capability(mutex))
/// A function that acquires the mutex itself and must not be called while it is held.
#define RINGSCOPE_EXCLUDES(mutex) RINGSCOPE_ANNOTATE(locks_excluded(mutex))
/// A function that returns with the mutex acquired, or released.
#define RINGSCOPE_ACQUIRE(...) RINGSCOPE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define RINGSCOPE_RELEASE(...) RINGSCOPE_ANNOTATE(release_capability(__VA_ARGS__))
/// A function that the analysis skips; a comment beside it gives the reason.
#define RINGSCOPE_UNCHECKED RINGSCOPE_ANNOTATE(no_thread_safety_analysis)
