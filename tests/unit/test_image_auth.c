/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_image_auth.c - challenges, credentials, places of registries */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/image/auth.h"
#include "host/image/http.h"
#include "tests/lib/check_main.h"

static int parse(const char *s, struct auth *a)
{
	char *copy = check_copy(s, strlen(s) + 1);
	struct err e = { 0 };
	int r = auth_parse(copy, a, &e);

	ck_assert(r == 0 || e.msg[0]);
	free(copy);
	return r;
}

START_TEST(challenges_are_understood)
{
	struct auth a;

	ck_assert_int_eq(parse("Bearer realm=\"https://h/t?x=1\",service=\"s "
			       "v\",scope=\"a:b:pull,push\"",
			       &a),
			 0);
	ck_assert_int_eq(a.kind, AUTH_BEARER);
	ck_assert_str_eq(a.realm, "https://h/t?x=1");
	ck_assert_str_eq(a.service, "s v");
	ck_assert_str_eq(a.scope, "a:b:pull,push");
	ck_assert_int_eq(parse("basic  REALM=x , charset=\"UTF-8\"", &a), 0);
	ck_assert_int_eq(a.kind, AUTH_BASIC);
	ck_assert_int_eq(parse("Bearer realm=\"a\\\"b\"", &a), 0);
	ck_assert_str_eq(a.realm, "a\"b");
	ck_assert_str_eq(a.scope, "");
}
END_TEST

START_TEST(challenges_that_are_none)
{
	static const char *const bad[] = {
		"Bearer service=x",
		"Bearer realm=\"x",
		"Bearer realm=\"x\"y",
		"Bearer realm",
		"Bearer =x",
		"Bearer realm=\"\"",
		"Bearer realm=\"a\nb\"",
		"Bearer realm=\"a\177b\"",
		"Bearer realm=\"a\302\205b\"",
		"Bearer realm=\"a\342\200\256b\"",
		"Bearer realm=http://h",
		"Bearer realm=\"x\\",
	};
	char buf[AUTH_REALM_MAX + 20] = "Bearer realm=\"";
	struct auth a = { .kind = AUTH_NONE };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(parse(bad[i], &a) == -EBADMSG, "'%s'", bad[i]);
	ck_assert_int_eq(parse("", &a), -ENOTSUP);
	ck_assert_int_eq(parse("Negotiate", &a), -ENOTSUP);
	ck_assert_int_eq(a.kind, AUTH_NONE);
	/* As long as a realm may be, and one more. */
	memset(buf + 14, 'x', AUTH_REALM_MAX);
	memcpy(buf + 14 + AUTH_REALM_MAX, "\"", 2);
	ck_assert_int_eq(parse(buf, &a), 0);
	memcpy(buf + 14 + AUTH_REALM_MAX, "x\"", 3);
	ck_assert_int_eq(parse(buf, &a), -EBADMSG);
}
END_TEST

START_TEST(places_are_told_apart)
{
	static const struct {
		const char *url;
		int want;
	} all[] = {
		{ "https://h.x/a", 0 },
		{ "https://h.x:5000/a", 0 },
		{ "http://localhost:5000/a", 0 },
		{ "http://127.9.9.9/a", 0 },
		{ "http://[::1]:5000/a", 0 },
		{ "http://h.x/a", -EINVAL },
		{ "http://127.0.0.1.example/a", -EINVAL },
		{ "http://localhost.example/a", -EINVAL },
		{ "http://128.0.0.1/a", -EINVAL },
		{ "http://[::2]/a", -EINVAL },
		{ "http://0.0.0.0/a", -EINVAL },
		{ "https://u@h.x/a", -EINVAL },
		{ "https://u:p@h.x/a", -EINVAL },
		{ "https://uuuuuuuuuuuuuuuu:p@h.x/a", -EINVAL },
		{ "https://uuuuuuuuuuuuuuuuuuuuuuuu@h.x/a", -EINVAL },
		{ "https://:p@h.x/a", -EINVAL },
		{ "https://:pppppppppppppppppppppp@h.x/a", -EINVAL },
		{ "https://:@h.x/a", -EINVAL },
		{ "file:///etc/passwd", -EINVAL },
		{ "ftp://localhost/", -EINVAL },
		{ "h.x/a", -EINVAL },
		{ "", -EINVAL },
	};
	struct http_place a, b;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		ck_assert_msg(http_place(all[i].url, &a, NULL) == all[i].want,
			      "%s", all[i].url);
	ck_assert_int_eq(http_place("https://h.x/a", &a, NULL), 0);
	ck_assert_int_eq(http_place("https://H.X:443/b", &b, NULL), 0);
	ck_assert(http_same(&a, &b));
	ck_assert_int_eq(http_place("https://h.x:444/b", &b, NULL), 0);
	ck_assert(!http_same(&a, &b));
	ck_assert_int_eq(http_place("https://i.x/b", &b, NULL), 0);
	ck_assert(!http_same(&a, &b));
}
END_TEST

START_TEST(redirects_lead_to_nothing_less_safe)
{
	char got[HTTP_URL_MAX + 1];

#define JOIN(from, to) http_join(from, to, got, NULL)
	ck_assert_int_eq(JOIN("https://h.x/v2/a", "/b?c"), 0);
	ck_assert_str_eq(got, "https://h.x/b?c");
	ck_assert_int_eq(JOIN("https://h.x/a", "https://i.x/b"), 0);
	ck_assert_int_eq(JOIN("http://localhost:5/a", "https://i.x/b"), 0);
	ck_assert_int_eq(JOIN("http://localhost:5/a", "//127.0.0.1/b"), 0);
	ck_assert_int_eq(JOIN("https://h.x/a", "http://h.x/b"), -EINVAL);
	ck_assert_int_eq(JOIN("https://h.x/a", "http://127.0.0.1/b"), -EPERM);
	ck_assert_int_eq(JOIN("https://h.x/a", "https://127.0.0.1/b"), -EPERM);
	ck_assert_int_eq(JOIN("https://localhost/a", "http://localhost/b"),
			 -EPERM);
	ck_assert_int_eq(JOIN("https://h.x/a", "file:///etc/passwd"), -EINVAL);
#undef JOIN
}
END_TEST

START_TEST(docker_s_login)
{
	static const char json[] =
		"{\"auths\":{\"h.x\":{\"auth\":\"bWU6cGFzcw==\"},"
		"\"https://index.docker.io/v1/\":{\"auth\":\"aHViOng=\"}},"
		"\"credHelpers\":{\"i.x\":\"pass\"}}";
	char *copy = check_copy(json, sizeof(json) - 1);
	char user[AUTH_USER_MAX + 1];
	bool helper;

#define LOGIN(host) \
	auth_docker(copy, sizeof(json) - 1, host, user, &helper, NULL)
	ck_assert_int_eq(LOGIN("h.x"), 0);
	ck_assert_str_eq(user, "me:pass");
	ck_assert(!helper);
	ck_assert_int_eq(LOGIN("docker.io"), 0);
	ck_assert_str_eq(user, "hub:x");
	ck_assert_int_eq(LOGIN("i.x"), 0);
	ck_assert_str_eq(user, "");
	ck_assert(helper);
	ck_assert_int_eq(LOGIN("none"), 0);
	ck_assert_str_eq(user, "");
	ck_assert(!helper);
#undef LOGIN
	free(copy);
}
END_TEST

/* As older docker logins wrote them; Docker still goes by the host in them. */
START_TEST(docker_s_login_under_a_url)
{
	static const struct {
		const char *auths;
		const char *host;
		const char *user;
	} all[] = {
#define ME  "{\"auth\":\"bWU6cGFzcw==\"}"
#define HUB "{\"auth\":\"aHViOng=\"}"
		{ "\"https://h.x\":" ME, "h.x", "me:pass" },
		{ "\"http://h.x/\":" ME, "h.x", "me:pass" },
		{ "\"h.x/v1/\":" ME, "h.x", "me:pass" },
		{ "\"https://h.x:5000/v2/\":" ME, "h.x:5000", "me:pass" },
		{ "\"https://docker.io\":" HUB, "docker.io", "hub:x" },
		/* What is just the host goes first. */
		{ "\"h.x/a\":" HUB ",\"h.x\":" ME, "h.x", "me:pass" },
		{ "\"h.x/a\":" ME ",\"h.x/b\":" HUB, "h.x", "me:pass" },
		/* Others; docker login has tokens beside docker.io's own. */
		{ "\"https://index.docker.io/v1/access-token\":" HUB,
		  "docker.io", "" },
		{ "\"https://h.x:5000\":" ME, "h.x", "" },
		{ "\"https://h.x\":" ME, "h.x:5000", "" },
		{ "\"https://h.xy\":" ME, "h.x", "" },
		{ "\"https://h.x@i.x/\":" ME, "h.x", "" },
		{ "\"https://i.x/h.x\":" ME, "h.x", "" },
		{ "\"ftp://h.x\":" ME, "h.x", "" },
		{ "\"https://https://h.x\":" ME, "h.x", "" },
		{ "\"https://h\":" ME, "h.x", "" },
#undef ME
#undef HUB
	};
	char json[256], user[AUTH_USER_MAX + 1], *copy;
	bool helper;
	int len;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		len = snprintf(json, sizeof(json), "{\"auths\":{%s}}",
			       all[i].auths);
		copy = check_copy(json, (size_t)len);
		ck_assert_int_eq(auth_docker(copy, (size_t)len, all[i].host,
					     user, &helper, NULL),
				 0);
		ck_assert_msg(strcmp(user, all[i].user) == 0, "%s: '%s'",
			      all[i].auths, user);
		free(copy);
	}
}
END_TEST

CHECK_MAIN("image_auth", challenges_are_understood, challenges_that_are_none,
	   places_are_told_apart, redirects_lead_to_nothing_less_safe,
	   docker_s_login, docker_s_login_under_a_url)
