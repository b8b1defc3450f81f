<?php

/**
 * Client for Troco's API, in one file: PHP 8.1 or newer, over any PSR-18 client and PSR-17 factories.
 *
 *     $troco = new Troco\Client('https://pay.example', fn () => getenv('TROCO_TOKEN'), $http, $requests, $streams);
 *     $charge = $troco->charges->create(['amount' => 4990, …], key: 'order-1048');
 *     $paid = $troco->charges->waitUntilPaid($charge['transaction_id'], seconds: 60);
 *
 * Each operation that creates something takes an idempotency key from your own record, such as the order number: whatever
 * happens in between, the same key takes effect once. Amounts are integers in cents. Answers are the arrays of the API's
 * documentation. Set the time limit of an attempt (30 s) in your PSR-18 client, which must not follow redirects: Guzzle's `sendRequest` does not.
 */

declare(strict_types=1);

namespace Troco;

use Closure;
use Generator;
use IteratorAggregate;
use JsonException;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamFactoryInterface;
use RuntimeException;
use Throwable;

/**
 * What a server refused, or why it was not reached. The message is for people, `errorCode` for programs: `no_response`,
 * `invalid_response`, `invalid_argument` and `invalid_signature` come from this client.
 */
final class TrocoException extends RuntimeException
{
    /**
     * @param array<string, list<string>> $fields messages by field
     * @param array<string, string> $headers of the response, by their names in lower case
     */
    public function __construct(
        string $message,
        public readonly string $errorCode,
        public readonly int $status = 0,
        public readonly array $fields = [],
        public readonly array $headers = [],
        public readonly bool $isRetryable = false,
        ?Throwable $previous = null,
    ) {
        parent::__construct($message, $status, $previous);
    }

    public static function ofArgument(string $field, string $problem): self
    {
        return new self("$field $problem", 'invalid_argument', fields: [$field => [$problem]]);
    }

    /** Names the request in the server's log. */
    public function requestId(): ?string
    {
        return $this->headers['x-request-id'] ?? null;
    }

    /** Address of the code's entry in the documentation. */
    public function docs(): ?string
    {
        return preg_match('/<([^>]+)>/', $this->headers['link'] ?? '', $found) ? $found[1] : null;
    }
}

/** Where a reader of the event feed stands: store both, and give them back as they are. */
final class FeedPosition
{
    public function __construct(public readonly int $after = 0, public readonly ?string $epoch = null) {}
}

/**
 * Why the feed goes on elsewhere: compare your records with the charges, because events may be missing. Reasons:
 * events_deleted, backup_restored (with the last event that is left), other_feed.
 */
final class FeedGap
{
    public function __construct(public readonly string $reason, public readonly ?int $lastKept = null) {}
}

/** All entries of a list, page by page: `foreach ($troco->charges->list() as $charge)`. */
final class Pages implements IteratorAggregate
{
    public function __construct(private readonly Closure $read) {}

    /** Reads one page, `data` and `next_cursor`: the first, or the one after a `next_cursor`. */
    public function page(?string $cursor = null): array
    {
        return ($this->read)($cursor);
    }

    public function getIterator(): Generator
    {
        $cursor = null;
        do {
            $page = $this->page($cursor);
            foreach ($page['data'] as $entry) {
                yield $entry;
            }
            $cursor = $page['next_cursor'];
        } while ($cursor !== null);
    }
}

final class Client
{
    /** Without Retry-After, the pause doubles from 0.5 s to this. */
    private const PAUSE_MAX_S = 16;
    /** After a longer Retry-After, the server is asked again sooner: it may be up again. */
    private const RETRY_AFTER_MAX_S = 60;

    public readonly Charges $charges;
    public readonly Refunds $refunds;
    public readonly Payments $withdrawals;
    public readonly Disputes $disputes;
    public readonly Statement $statement;
    public readonly Events $events;
    public readonly Endpoints $endpoints;
    public readonly Deliveries $deliveries;
    public readonly Tokens $tokens;
    public readonly Records $requests;
    public readonly Sandbox $sandbox;
    private readonly string $base;

    /** @param string|Closure(): string $token a closure is called for each request, so that a rotated token takes effect at once */
    public function __construct(
        string $url,
        private readonly string|Closure $token,
        private readonly ClientInterface $http,
        private readonly RequestFactoryInterface $requestFactory,
        private readonly StreamFactoryInterface $streamFactory,
        private readonly int $attempts = 6,
    ) {
        if (!preg_match('#^https?://#', $url)) {
            throw TrocoException::ofArgument('url', 'must begin with https:// or http://');
        }
        $this->base = preg_replace('#/api$#', '', rtrim($url, '/')) . '/api';
        $this->charges = new Charges($this, '/transactions');
        $this->refunds = new Refunds($this, '/refunds');
        $this->withdrawals = new Payments($this, '/withdrawals');
        $this->disputes = new Disputes($this, '/disputes');
        $this->statement = new Statement($this, '/statement');
        $this->events = new Events($this, '/events');
        $this->endpoints = new Endpoints($this, '/webhooks/endpoints');
        $this->deliveries = new Deliveries($this, '/webhooks/deliveries');
        $this->tokens = new Tokens($this, '/tokens');
        $this->requests = new Records($this, '/requests');
        $this->sandbox = new Sandbox($this, '/sandbox');
    }

    public function account(): array
    {
        return $this->request('GET', '/account');
    }

    /** Calls an operation that this client has no method for. */
    public function request(string $method, string $path, ?array $body = null, ?string $key = null): array
    {
        return self::read($this->send($method, $path, $body, $key));
    }

    /** @internal */
    public function create(string $path, array $body, string $key): array
    {
        if ($key === '' || strlen($key) > 255) {
            throw TrocoException::ofArgument('key', 'must be an idempotency key of 1 to 255 characters');
        }
        return $this->request('POST', $path, $body, $key);
    }

    /** @internal */
    public function act(string $path, array $body, ?string $key = null): array
    {
        $given = array_filter($body, fn ($value) => $value !== null);
        return $this->request('POST', $path, $given, $key ?? bin2hex(random_bytes(16)));
    }

    /** @internal */
    public function list(string $path, array $filters): Pages
    {
        return new Pages(fn (?string $cursor) => $this->request(
            'GET',
            $path . self::search($cursor === null ? $filters : ['cursor' => $cursor] + $filters),
        ));
    }

    /** Repeats what may be repeated: nothing was changed, or the key makes it safe. */
    public function send(string $method, string $path, ?array $body = null, ?string $key = null): ResponseInterface
    {
        $isSafe = $method !== 'POST' || $key !== null;
        for ($attempt = 1; ; $attempt++) {
            try {
                return $this->attempt($method, $path, $body, $key);
            } catch (TrocoException $error) {
                if (!$error->isRetryable || !$isSafe || $attempt >= $this->attempts) {
                    throw $error;
                }
                usleep(self::pauseAfter($error, $attempt));
            }
        }
    }

    private function attempt(string $method, string $path, ?array $body, ?string $key): ResponseInterface
    {
        $token = $this->token instanceof Closure ? ($this->token)() : $this->token;
        $request = $this->requestFactory->createRequest($method, $this->base . $path)
            ->withHeader('Authorization', "Bearer $token");
        if ($body !== null) {
            $json = json_encode($body ?: (object) [], JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);
            $request = $request->withHeader('Content-Type', 'application/json')
                ->withBody($this->streamFactory->createStream($json));
        }
        if ($key !== null) {
            $request = $request->withHeader('Idempotency-Key', $key);
        }
        try {
            $response = $this->http->sendRequest($request);
            // Some clients fail only when the body is read.
            $text = (string) $response->getBody();
        } catch (ClientExceptionInterface | RuntimeException $error) {
            throw new TrocoException('The server did not respond', 'no_response', isRetryable: true, previous: $error);
        }
        $status = $response->getStatusCode();
        if ($status >= 200 && $status < 300) {
            return $response;
        }
        throw self::readError($status, $text, self::headersOf($response));
    }

    /** @internal */
    public static function headersOf(ResponseInterface $response): array
    {
        $lines = array_map(fn (array $values) => implode(', ', $values), $response->getHeaders());
        return array_change_key_case($lines, CASE_LOWER);
    }

    /** @internal */
    public static function read(ResponseInterface $response): array
    {
        try {
            return json_decode((string) $response->getBody(), true, flags: JSON_THROW_ON_ERROR);
        } catch (JsonException $error) {
            throw new TrocoException('The response is not JSON', 'invalid_response', previous: $error);
        }
    }

    /** Reads the three shapes of errors: one message, the first problem, and the problems of each field. */
    private static function readError(int $status, string $text, array $headers): TrocoException
    {
        $code = $headers['x-error-code'] ?? "http_$status";
        $body = json_decode($text, true) ?? ['error' => substr($text, 0, 200)];
        $problems = $body['errors'] ?? [];
        if (is_string($problems)) {
            $names = array_filter(explode(' ', $headers['x-error-fields'] ?? ''));
            $fields = array_fill_keys($names, []);
            if ($names) {
                $fields[$names[0]] = [$problems];
            }
            $message = $problems;
        } else {
            $fields = $problems;
            $listed = array_map(fn ($name) => "$name: " . implode(', ', $fields[$name]), array_keys($fields));
            $message = $body['error'] ?? implode('; ', $listed);
        }
        $isRetryable = $status >= 500 || in_array($status, [408, 429]) || $code === 'in_progress';
        return new TrocoException($message ?: "HTTP $status", $code, $status, $fields, $headers, $isRetryable);
    }

    /** Microseconds until the next attempt. */
    private static function pauseAfter(TrocoException $error, int $attempt): int
    {
        $seconds = $error->headers['retry-after'] ?? '';
        if (ctype_digit($seconds)) {
            return (int) min((float) $seconds, self::RETRY_AFTER_MAX_S) * 1_000_000;
        }
        return (int) (min(2 ** $attempt / 4, self::PAUSE_MAX_S) * random_int(750_000, 1_250_000));
    }

    /** @internal */
    public static function segment(string $id): string
    {
        // In an address, dots lead to another operation.
        if (in_array($id, ['', '.', '..'], true)) {
            throw TrocoException::ofArgument('id', 'must not be empty or dots');
        }
        return rawurlencode($id);
    }

    /** @internal A list in a filter repeats its name, as the API reads it. */
    public static function search(array $query): string
    {
        $pairs = [];
        foreach ($query as $name => $value) {
            foreach (is_array($value) ? $value : [$value] as $one) {
                if ($one !== null) {
                    $pairs[] = rawurlencode($name) . '=' . rawurlencode((string) $one);
                }
            }
        }
        return $pairs ? '?' . implode('&', $pairs) : '';
    }

    /** @internal */
    public static function requireCents(string $field, mixed $value): void
    {
        if (!is_int($value) || $value <= 0) {
            $shown = json_encode($value);
            throw TrocoException::ofArgument($field, "must be a positive integer in cents, not $shown");
        }
    }
}

abstract class Resource
{
    public function __construct(protected readonly Client $troco, protected readonly string $path) {}

    protected function pathOf(string $id): string
    {
        return $this->path . '/' . Client::segment($id);
    }
}

/** What can be listed page by page. */
class Listed extends Resource
{
    public function list(array $filters = []): Pages
    {
        return $this->troco->list($this->path, $filters);
    }
}

/** What can also be read one by one. */
class Records extends Listed
{
    /** By its id; charges and withdrawals also by your reference. */
    public function get(string $id): array
    {
        return $this->troco->request('GET', $this->pathOf($id))['data'];
    }
}

class Payments extends Records
{
    public function create(array $body, string $key): array
    {
        Client::requireCents('amount', $body['amount'] ?? null);
        return $this->troco->create($this->path, $body, $key)['data'];
    }

    public function receipt(string $id): string
    {
        return (string) $this->troco->send('GET', $this->pathOf($id) . '/receipt.pdf')->getBody();
    }
}

final class Charges extends Payments
{
    public function cancel(string $id, ?string $key = null): array
    {
        return $this->troco->act($this->pathOf($id) . '/cancel', [], $key)['data'];
    }

    public function describe(string $id, ?string $description): array
    {
        $path = $this->pathOf($id) . '/description';
        return $this->troco->request('PUT', $path, ['description' => $description])['data'];
    }

    /** Returns the charge once it is paid. Throws charge_expired, charge_failed, or charge_pending after the seconds. */
    public function waitUntilPaid(string $id, float $seconds): array
    {
        $end = microtime(true) + $seconds;
        while (true) {
            $charge = $this->get($id);
            ['status' => $status] = $charge;
            if ($status === 'paid') {
                return $charge;
            }
            if ($status !== 'pending' || microtime(true) >= $end) {
                throw new TrocoException("The charge $id is $status", "charge_$status");
            }
            usleep((int) (min(2, max(0, $end - microtime(true))) * 1_000_000));
        }
    }
}

final class Disputes extends Records
{
    /** Sends a text, a PDF, PNG or JPEG of at most 5 MB, or both, for the defense. */
    public function addEvidence(
        string $id,
        ?string $text = null,
        ?string $file = null,
        ?string $fileName = null,
        ?string $key = null,
    ): array {
        $body = [
            'text' => $text,
            'file' => $file === null ? null : base64_encode($file),
            'file_name' => $fileName,
        ];
        $given = array_filter($body, fn (?string $value): bool => $value !== null);
        return $this->troco->act($this->pathOf($id) . '/evidence', $given, $key)['data'];
    }

    public function evidence(string $id): array
    {
        return $this->troco->request('GET', $this->pathOf($id) . '/evidence')['data'];
    }

    public function evidenceFile(string $id, string $evidenceId): string
    {
        $path = $this->pathOf($id) . '/evidence/' . Client::segment($evidenceId);
        return (string) $this->troco->send('GET', $path)->getBody();
    }
}

final class Refunds extends Listed
{
    /** Refunds a part. For all that is left there is `createFull`. */
    public function create(string $chargeId, int $amount, string $key, ?string $reason = null): array
    {
        Client::requireCents('amount', $amount);
        return $this->refund($chargeId, $amount, $reason, $key);
    }

    /** Refunds all that can still be refunded. */
    public function createFull(string $chargeId, string $key, ?string $reason = null): array
    {
        return $this->refund($chargeId, 'all', $reason, $key);
    }

    private function refund(string $chargeId, int|string $amount, ?string $reason, string $key): array
    {
        $body = ['amount' => $amount] + ($reason === null ? [] : ['reason' => $reason]);
        return $this->troco->create('/transactions/' . Client::segment($chargeId) . '/refunds', $body, $key)['data'];
    }

    public function get(string $chargeId, string $id): array
    {
        $path = '/transactions/' . Client::segment($chargeId) . '/refunds/' . Client::segment($id);
        return $this->troco->request('GET', $path)['data'];
    }

    public function ofCharge(string $chargeId, array $filters = []): Pages
    {
        return $this->troco->list('/transactions/' . Client::segment($chargeId) . '/refunds', $filters);
    }
}

final class Statement extends Listed
{
    public function balances(array $filters = []): array
    {
        return $this->troco->request('GET', '/balance/history' . Client::search($filters));
    }

    public function csv(array $filters = []): string
    {
        return (string) $this->troco->send('GET', '/statement.csv' . Client::search($filters))->getBody();
    }
}

final class Events extends Resource
{
    /**
     * Reads one page of the feed, oldest first.
     *
     * @return array{list<array>, FeedPosition}
     */
    public function page(FeedPosition $position): array
    {
        $query = ['after' => $position->after, 'epoch' => $position->epoch, 'limit' => 100];
        $response = $this->troco->send('GET', $this->path . Client::search($query));
        $body = Client::read($response);
        return [$body['data'], new FeedPosition($body['next_after'], $response->getHeaderLine('Troco-Feed-Epoch'))];
    }

    /**
     * Hands over every event once and in order, until `isEnded`. `save` stores what the events change and the position in
     * one transaction of yours: then each event takes effect once, even if the process dies. After deleted events, a restored
     * backup or a token of the other mode it gets no events but a gap. If it throws, `follow` ends with that error.
     *
     * @param Closure(): ?FeedPosition $load
     * @param Closure(list<array>, FeedPosition, ?FeedGap): mixed $save
     * @param ?Closure(): bool $isEnded
     */
    public function follow(Closure $load, Closure $save, float $pause = 5, ?Closure $isEnded = null): void
    {
        $position = $load() ?? new FeedPosition();
        while (!$isEnded || !$isEnded()) {
            try {
                [$events, $next] = $this->page($position);
            } catch (TrocoException $error) {
                [$next, $gap] = self::findContinuation($error, $position);
                if ($next) {
                    $save([], $next, $gap);
                    $position = $next;
                } elseif ($error->isRetryable) {
                    usleep((int) ($pause * 1_000_000));
                } else {
                    throw $error;
                }
                continue;
            }
            if ($events || $next->epoch !== $position->epoch) {
                $save($events, $next, null);
            }
            $position = $next;
            if (!$events) {
                usleep((int) ($pause * 1_000_000));
            }
        }
    }

    /** Returns where the feed goes on, if it lost events or is another one. */
    private static function findContinuation(TrocoException $error, FeedPosition $before): array
    {
        ['troco-continue-after' => $after, 'troco-feed-epoch' => $epoch, 'troco-last-kept' => $kept] =
            $error->headers + ['troco-continue-after' => null, 'troco-feed-epoch' => null, 'troco-last-kept' => null];
        if ($after === null) {
            return [null, null];
        }
        $reason = $epoch === $before->epoch ? 'events_deleted' : 'other_feed';
        $gap = $kept === null ? new FeedGap($reason) : new FeedGap('backup_restored', (int) $kept);
        return [new FeedPosition((int) $after, $epoch), $gap];
    }
}

/** What people would otherwise set up in the dashboard. */
abstract class Managed extends Resource
{
    public function create(array $body, string $key): array
    {
        return $this->troco->create($this->path, $body, $key)['data'];
    }

    public function list(): array
    {
        return $this->troco->request('GET', $this->path)['data'];
    }

    public function update(string $id, array $body): array
    {
        return $this->troco->request('PATCH', $this->pathOf($id), $body)['data'];
    }
}

final class Endpoints extends Managed
{
    public function get(string $id): array
    {
        return $this->troco->request('GET', $this->pathOf($id))['data'];
    }

    public function delete(string $id): array
    {
        return $this->troco->request('DELETE', $this->pathOf($id));
    }

    public function disable(string $id, ?string $key = null): array
    {
        return $this->troco->act($this->pathOf($id) . '/disable', [], $key)['data'];
    }

    public function enable(string $id, bool $sendMissed = true, ?string $key = null): array
    {
        return $this->troco->act($this->pathOf($id) . '/enable', ['send_missed' => $sendMissed], $key);
    }

    /** Shows a new secret. The previous one signs for 24 more hours. */
    public function rotate(string $id, string $key): array
    {
        return $this->troco->create($this->pathOf($id) . '/rotate', [], $key)['data'];
    }

    public function test(string $id, ?string $type = null, ?string $key = null): array
    {
        return $this->troco->act($this->pathOf($id) . '/test', ['type' => $type], $key);
    }
}

final class Deliveries extends Records
{
    public function resend(string $id, ?string $key = null): array
    {
        return $this->troco->act($this->pathOf($id) . '/resend', [], $key);
    }

    public function resendFailed(array $body, ?string $key = null): array
    {
        return $this->troco->act('/webhooks/deliveries/resend', $body, $key);
    }
}

final class Tokens extends Managed
{
    public function revoke(string $id, ?string $reason = null, ?string $key = null): array
    {
        return $this->troco->act($this->pathOf($id) . '/revoke', ['reason' => $reason], $key)['data'];
    }

    public function rotate(string $id, int $overlapHours, string $key): array
    {
        $body = ['overlap_hours' => $overlapHours];
        return $this->troco->create($this->pathOf($id) . '/rotate', $body, $key)['data'];
    }
}

/** The simulated bank, for tokens of the test mode. */
final class Sandbox extends Resource
{
    /** Outcomes: paid, failed, expired. */
    public function charge(string $id, string $outcome): array
    {
        return $this->act('/sandbox/transactions/' . Client::segment($id), ['outcome' => $outcome]);
    }

    /** Outcomes: completed, rejected. */
    public function refund(string $id, string $outcome, ?string $reason = null): array
    {
        return $this->act('/sandbox/refunds/' . Client::segment($id), ['outcome' => $outcome, 'reason' => $reason]);
    }

    /** Outcomes: approved, rejected, returned. */
    public function withdrawal(string $id, string $outcome, ?string $reason = null, ?int $amount = null): array
    {
        $body = ['outcome' => $outcome, 'reason' => $reason, 'amount' => $amount];
        return $this->act('/sandbox/withdrawals/' . Client::segment($id), $body);
    }

    public function dispute(string $chargeId, ?int $amount = null): array
    {
        return $this->act('/sandbox/transactions/' . Client::segment($chargeId) . '/disputes', ['amount' => $amount]);
    }

    /** Outcomes: won, lost. */
    public function closeDispute(string $id, string $outcome, ?int $amount = null): array
    {
        return $this->act('/sandbox/disputes/' . Client::segment($id), ['outcome' => $outcome, 'amount' => $amount]);
    }

    /** Lets time pass, such as 90s, 25h or 91d: what is due happens. */
    public function advance(string $duration): array
    {
        return $this->act('/sandbox/clock', ['advance' => $duration]);
    }

    /** Faults: unavailable, timeout, duplicate. */
    public function failWebhooks(string $fault, int $count = 1): array
    {
        return $this->act('/sandbox/webhooks', ['fault' => $fault, 'count' => $count]);
    }

    /** Ends what the two above do. */
    public function end(): array
    {
        return $this->troco->request('DELETE', '/sandbox/controls')['data'];
    }

    private function act(string $path, array $body): array
    {
        return $this->troco->act($path, $body)['data'];
    }
}

final class Webhook
{
    private const TOLERANCE_S = 300;

    /**
     * Verifies the signature of a webhook and returns its event. Throws invalid_signature otherwise: respond with 400. Each
     * event can arrive more than once: store the ids of those that you processed. Accept types that you do not know.
     *
     * @param array<string, string|list<string>> $headers such as `getallheaders()`, or those of a PSR-7 request
     * @param string $body the bytes as they arrived: `file_get_contents('php://input')`
     * @param string|list<string> $secrets the endpoint's `whsec_…`; several during a rotation
     */
    public static function verify(array $headers, string $body, string|array $secrets): array
    {
        $given = array_change_key_case($headers, CASE_LOWER);
        $header = fn (string $name) => (string) (((array) ($given[$name] ?? ''))[0] ?? '');
        $sentAt = $header('webhook-timestamp');
        if (!ctype_digit($sentAt) || abs(time() - (int) $sentAt) > self::TOLERANCE_S) {
            $message = 'The time stamp is missing or differs from this clock by over 5 minutes';
            throw new TrocoException($message, 'invalid_signature');
        }
        $signed = $header('webhook-id') . ".$sentAt.$body";
        foreach ((array) $secrets as $secret) {
            $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6), true) : false;
            // Anybody can sign with an empty key.
            if ($key === false || $key === '') {
                throw TrocoException::ofArgument('secret', 'must begin with whsec_ and be complete');
            }
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
            foreach (explode(' ', $header('webhook-signature')) as $signature) {
                if (hash_equals($expected, $signature)) {
                    return json_decode($body, true, flags: JSON_THROW_ON_ERROR);
                }
            }
        }
        throw new TrocoException('The signature does not match', 'invalid_signature');
    }
}
