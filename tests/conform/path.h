/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/path.h - the operations that take a path */
#ifndef HUTCH_TESTS_CONFORM_PATH_H
#define HUTCH_TESTS_CONFORM_PATH_H

#include "tests/conform/conform.h"

/**
 * enum op_flag - What an operation is like
 * @FOLLOWS:	a symlink at the end of the path
 * @MAKES:	the name
 * @REPLACES:	the name if it is there, else makes it
 * @REMOVES:	the name
 * @CHANGES:	what the name stands for
 * @ANYBODY:	no right to the object is needed, only the way to it
 * @ELSEWHERE:	has a second path, which is not on the same mount
 * @SOURCE:	that is the file "src"
 * @ATTRIBUTED:	it is about ATTR of the file
 */
enum op_flag {
	FOLLOWS = 1 << 0,
	MAKES = 1 << 1,
	REPLACES = 1 << 2,
	REMOVES = 1 << 3,
	CHANGES = 1 << 4,
	ANYBODY = 1 << 5,
	ELSEWHERE = 1 << 6,
	SOURCE = 1 << 7,
	ATTRIBUTED = 1 << 8,
};

/** NOTHING - What a name stands for that an operation is to make */
#define NOTHING (-1)

/**
 * struct op - An operation
 * @call:	Do it to @path
 * @wants:	enum kind of what has to be there, or NOTHING
 * @flags:	enum op_flag
 * @marks:	Stamps of the object that it sets, as in enum stamp
 * @slash:	Error of a path that ends in a slash, 0 if it works
 * @denied:	Error for one who may reach the object but has no right to it
 */
struct op {
	const char *name;
	int (*call)(const char *path);
	int wants;
	unsigned int flags;
	unsigned int marks;
	int slash;
	int denied;
};

#endif
