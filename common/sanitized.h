/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/sanitized.h - whether this build has a sanitizer's run time in it
 *
 * That reads /proc, maps what it likes and calls what no list of ours has, so a
 * jail is wider there; the real one is seen by builds without.
 */
#ifndef HUTCH_COMMON_SANITIZED_H
#define HUTCH_COMMON_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
