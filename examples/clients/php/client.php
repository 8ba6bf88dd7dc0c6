<?php

declare(strict_types=1);

/*
 * Logs in, calls me, and logs out, with PHP 8.1 or newer and no extension. Uses LATCHKEY_URL, LATCHKEY_EMAIL and
 * LATCHKEY_PASSWORD. LATCHKEY_TOKEN can be the token of an earlier login. Exits 0 when done, 1 when refused, 2 when a
 * setting is missing.
 */

/** The service refused the request. Switch on `reason`. */
final class Refused extends RuntimeException
{
    public readonly string $reason;

    public function __construct(public readonly int $status, array $fields)
    {
        $this->reason = $fields['reason'] ?? 'unknown';
        parent::__construct("$status $this->reason, request " . ($fields['request_id'] ?? 'unknown'));
    }
}

final class Unreachable extends RuntimeException
{
}

final class Client
{
    private const TRIES = 4;
    private const LONGEST_WAIT_S = 60;

    public function __construct(
        private readonly string $url,
        private readonly string $email,
        #[\SensitiveParameter] private readonly string $password,
        #[\SensitiveParameter] private ?string $token = null,
    ) {
    }

    public function logIn(): void
    {
        $this->token = $this->post('/api/login', ['email' => $this->email, 'password' => $this->password])['token'];
    }

    /** Calls with the token. If it is revoked or expired, tries once with a new one. */
    public function asCustomer(string $path): array
    {
        if ($this->token === null) {
            $this->logIn();
        }
        try {
            return $this->post($path, token: $this->token);
        } catch (Refused $refused) {
            if ($refused->status !== 401) {
                throw $refused;
            }
        }
        $this->logIn();
        return $this->post($path, token: $this->token);
    }

    public function logOut(): void
    {
        try {
            $this->post('/api/logout', token: $this->token);
        } catch (Refused $refused) {
            // 401 means that the token is revoked: the response to an earlier try was lost.
            if ($refused->status !== 401) {
                throw $refused;
            }
        }
        $this->token = null;
    }

    /** Retries after `Retry-After`, a few times. */
    private function post(string $path, ?array $body = null, #[\SensitiveParameter] ?string $token = null): array
    {
        for ($try = 1; ; $try++) {
            [$status, $waitS, $fields] = $this->send($path, $body, $token);
            // Without it, the response is not from the service.
            if ($status === 200 && ($fields['success'] ?? false) === true) {
                return $fields;
            }
            if (!in_array($status, [429, 503], true) || $try === self::TRIES || $waitS > self::LONGEST_WAIT_S) {
                throw new Refused($status, $fields);
            }
            sleep($waitS);
        }
    }

    private function send(string $path, ?array $body, #[\SensitiveParameter] ?string $token): array
    {
        $headers = ['Connection: close'];
        if ($token !== null) {
            $headers[] = "Authorization: Bearer $token";
        }
        if ($body !== null) {
            $headers[] = 'Content-Type: application/json';
        }
        $context = stream_context_create(['http' => [
            'method' => 'POST',
            'header' => $headers,
            'content' => $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE),
            'protocol_version' => 1.1,
            'timeout' => 15,
            // Send a token to the service only.
            'follow_location' => 0,
            'ignore_errors' => true,
        ]]);
        $stream = @fopen(rtrim($this->url, '/') . $path, 'r', false, $context);
        if ($stream === false) {
            throw new Unreachable();
        }
        $lines = stream_get_meta_data($stream)['wrapper_data'];
        $text = stream_get_contents($stream);
        fclose($stream);

        $fields = json_decode((string) $text, true);
        $waitS = 1;
        foreach ($lines as $line) {
            if (preg_match('/^retry-after: *(\d{1,6})$/i', $line, $found) === 1) {
                $waitS = (int) $found[1];
            }
        }
        // The first line is the status line.
        return [(int) explode(' ', $lines[0])[1], $waitS, is_array($fields) ? $fields : []];
    }
}

/** Prints the reason of the exit in one line. */
function ended(string $line, int $code): never
{
    fwrite(STDERR, "latchkey: $line\n");
    exit($code);
}

$settings = [];
foreach (['LATCHKEY_URL', 'LATCHKEY_EMAIL', 'LATCHKEY_PASSWORD'] as $name) {
    $value = (string) getenv($name);
    $settings[] = $value === '' ? ended("set $name", 2) : $value;
}
try {
    $client = new Client(...$settings, token: getenv('LATCHKEY_TOKEN') ?: null);
    $email = $client->asCustomer('/api/me')['customer']['email'];
    $client->logOut();
} catch (Refused $refused) {
    ended($refused->getMessage(), 1);
} catch (JsonException) {
    ended('LATCHKEY_EMAIL and LATCHKEY_PASSWORD must be UTF-8', 2);
} catch (Unreachable) {
    ended('the service cannot be reached', 1);
}
echo "logged in and out as $email\n";
