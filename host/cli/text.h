/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/text.h - text from outside made safe to show on a terminal */
#ifndef HUTCH_CLI_TEXT_H
#define HUTCH_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** text_or_null() - NULL for "" too: nothing was said */
static inline const char *text_or_null(const char *s)
{
	return s && *s ? s : NULL;
}

/**
 * text_utf8() - Take one character off the front of @s
 * @len:	Bytes at @s, at least 1
 * @ret:	The code point; untouched if there is none
 *
 * Accepts what Unicode calls well-formed: no overlong form, no surrogate,
 * nothing past U+10FFFF.
 *
 * Return: bytes it takes, 1 to 4; 0 if @s does not start with a character;
 *         -1 if it may start with one of which the end is missing
 */
int text_utf8(const char *s, size_t len, uint32_t *ret);

/**
 * text_show() - Copy @s so that it can do a terminal no harm
 * @dst:	Room for the copy; always NUL-terminated
 * @size:	Bytes at @dst, at least 5
 * @max_cols:	At most this many columns, "..." included where text was cut
 *
 * Control characters, ill-formed bytes, and characters that take no column of
 * their own (such as those that turn the direction of writing) come out as
 * \n, \t, \e or \xNN; a backslash as \\.  What the locale cannot show is
 * escaped too.
 *
 * Return: columns that @dst takes on a terminal
 */
size_t text_show(char *dst, size_t size, const char *s, size_t max_cols);

/** text_print() - @s as text_show() has it, and a newline, on stdout */
void text_print(const char *s);

/**
 * text_near() - The word of @words that @word was most likely meant to be
 * @words:	NULL-terminated
 *
 * Return: an element of @words, or NULL if none is near
 */
const char *text_near(const char *word, const char *const *words);

/**
 * text_join() - Put a command's words in one line, quoted as a shell wants
 *
 * Return: malloc()ed, or NULL if there is no memory
 */
char *text_join(const char *const *argv);

#endif
