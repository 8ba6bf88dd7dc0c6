"""Makes a database of Django and Django REST framework, and prints the rows of the export and the header of each client."""
import csv, json, sys, os
from django.conf import settings
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "rest_framework.authtoken"],
    SECRET_KEY="recorded", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.AutoField", ROOT_URLCONF=__name__,
    PASSWORD_HASHERS=["django.contrib.auth.hashers.PBKDF2PasswordHasher"])
urlpatterns = []
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from rest_framework.authtoken.models import Token
from rest_framework.authentication import TokenAuthentication
from rest_framework.test import APIRequestFactory
from django.db import connection
for n in range(1, 4):
    user = User.objects.create_user(f"user{n}", f"peer{n}@example.com", "x")
    token = Token.objects.create(user=user)
    request = APIRequestFactory().get("/", HTTP_AUTHORIZATION=f"Token {token.key}")
    assert TokenAuthentication().authenticate(request)[0] == user
with connection.cursor() as cursor:
    cursor.execute("select t.key, t.created, u.email from authtoken_token t join auth_user u on u.id = t.user_id order by u.email")
    columns = [c[0] for c in cursor.description]
    rows = [dict(zip(columns, map(str, row))) for row in cursor.fetchall()]
import rest_framework
print(json.dumps({"system": f"Django {django.__version__}, Django REST framework {rest_framework.VERSION}", "from": "drf",
  "options": [], "rows": rows, "authorizations": [f"Token {row['key']}" for row in rows]}, indent=2))
