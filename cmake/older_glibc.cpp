// SPDX-License-Identifier: Apache-2.0
// Functions that programs of wheels use in place of newer ones of glibc, so that they start with
// glibc 2.34. The linker's option --wrap prescribes their names as symbols.
#include <sys/random.h>

#include <cstdlib>

extern "C" {

double oldHypot(double x, double y);
#if defined(__x86_64__)
__asm__(".symver oldHypot,hypot@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver oldHypot,hypot@GLIBC_2.17");
#endif

/// Calls the hypot() that glibc had before 2.35. Both compute the same number; the older one also
/// sets errno.
double wrapHypot(double x, double y) __asm__("__wrap_hypot");
double wrapHypot(double x, double y) {
  return oldHypot(x, y);
}

/// Returns random bits from the kernel. glibc has arc4random() since 2.36, and the static C++
/// library calls it.
unsigned wrapArc4random() __asm__("__wrap_arc4random");
unsigned wrapArc4random() {
  unsigned bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) std::abort();
  return bits;
}

}  // extern "C"
