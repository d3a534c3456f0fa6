/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/table.c - see table.h */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "host/cli/table.h"
#include "host/cli/text.h"

#define GAP        2u
#define ROWS_FIRST 16u

void table_init(struct table *t, const struct table_col *col, size_t n_cols)
{
	*t = (struct table){ .col = col, .n_cols = n_cols };
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cell[i].text);
	free(t->cell);
	*t = (struct table){ 0 };
}

static int make_room(struct table *t)
{
	size_t room = t->room ? t->room * 2 : t->n_cols * ROWS_FIRST;
	struct table_cell *cell;

	if (t->n_cells < t->room)
		return 0;
	cell = reallocarray(t->cell, room, sizeof(*cell));
	if (!cell)
		return -ENOMEM;
	t->cell = cell;
	t->room = room;
	return 0;
}

int table_add(struct table *t, const char *text)
{
	size_t max = t->col[t->n_cells % t->n_cols].max;
	char buf[TABLE_CELL_MAX];
	size_t width;
	char *copy;

	if (!text || !*text)
		text = "-";
	width = text_show(buf, sizeof(buf), text, max ? max : SIZE_MAX);
	if (make_room(t) < 0)
		return -ENOMEM;
	copy = strdup(buf);
	if (!copy)
		return -ENOMEM;
	t->cell[t->n_cells++] = (struct table_cell){ copy, width };
	return 0;
}

/* The last cell of a row is not padded: no line ends in spaces. */
static void print_cell(const struct table *t, size_t c, size_t wide,
		       const struct table_cell *cell, FILE *out)
{
	bool last = c + 1 == t->n_cols;

	(void)fprintf(out, "%s%*s", cell->text,
		      last ? 0 : (int)(wide - cell->width + GAP), "");
	if (last)
		(void)fputc('\n', out);
}

void table_print(const struct table *t, FILE *out)
{
	size_t wide[TABLE_COLS_MAX] = { 0 };

	for (size_t c = 0; c < t->n_cols; c++) {
		wide[c] = strlen(t->col[c].title);
		for (size_t i = c; i < t->n_cells; i += t->n_cols)
			wide[c] = MAX(wide[c], t->cell[i].width);
	}
	for (size_t c = 0; c < t->n_cols; c++) {
		char title[TABLE_CELL_MAX];
		struct table_cell head = { title, 0 };

		head.width = text_show(title, sizeof(title), t->col[c].title,
				       SIZE_MAX);
		print_cell(t, c, wide[c], &head, out);
	}
	for (size_t i = 0, c = 0; i < t->n_cells; i++) {
		print_cell(t, c, wide[c], &t->cell[i], out);
		c = c + 1 == t->n_cols ? 0 : c + 1;
	}
}
