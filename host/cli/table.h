/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/table.h - columns that line up, whatever stands in the cells */
#ifndef HUTCH_CLI_TABLE_H
#define HUTCH_CLI_TABLE_H

#include <stdio.h>

#include "host/cli/base.h"

#define TABLE_COLS_MAX 12
/* Bytes of a cell, escapes and NUL included; longer ones are cut. */
#define TABLE_CELL_MAX 4096

/**
 * struct table_col - A column
 * @title:	Its heading
 * @max:	Widest a cell may be in columns; 0 for no limit
 */
struct table_col {
	const char *title;
	size_t max;
};

/**
 * struct table_cell - A cell as it will be printed
 * @text:	malloc()ed, escaped
 * @width:	Columns it takes
 */
struct table_cell {
	char *text;
	size_t width;
};

/** struct table - Rows collected until all widths are known */
struct table {
	const struct table_col *col;
	size_t n_cols;
	struct table_cell *cell;
	size_t n_cells, room;
};

/** table_init() - A table of @n_cols columns, at most TABLE_COLS_MAX */
void table_init(struct table *t, const struct table_col *col, size_t n_cols);

/** table_done() - Free the cells */
void table_done(struct table *t);

/**
 * table_add() - Add the next cell, row by row
 * @text:	From anywhere; it is escaped here. NULL or "" shows as "-"
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int table_add(struct table *t, const char *text);

/** table_print() - Headings and rows, two spaces between columns */
void table_print(const struct table *t, FILE *out);

#endif
