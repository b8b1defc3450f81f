<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

/** A small shop's own tests, on PHPUnit: Troco runs beside them as a program, and ends with them. */
final class ShopTest extends TestCase
{
    /** @var resource */
    private static $process;
    private static array $pipes = [];
    private static array $troco;

    public static function setUpBeforeClass(): void
    {
        $command = [getenv('NODE') ?: 'node', __DIR__ . '/../index.cjs'];
        self::$process = proc_open($command, [['pipe', 'r'], ['pipe', 'w']], self::$pipes);
        self::$troco = json_decode(fgets(self::$pipes[1]), true);
    }

    public static function tearDownAfterClass(): void
    {
        fclose(self::$pipes[0]);
        proc_close(self::$process);
    }

    private static function call(string $method, string $url, ?array $body = null, string $token = ''): array
    {
        $headers = ['Content-Type: application/json', ...($token ? ["Authorization: Bearer $token"] : [])];
        $content = $body === null ? '' : json_encode($body);
        $options = ['method' => $method, 'header' => $headers, 'content' => $content, 'timeout' => 60];
        return json_decode(file_get_contents($url, false, stream_context_create(['http' => $options])), true);
    }

    public function testAPaidOrderBringsAWebhook(): void
    {
        ['id' => $id, 'api' => $api, 'token' => $token] = self::call('POST', self::$troco['url'] . '/testing/accounts', [
            'balance' => 10_000,
        ]);
        self::call('POST', "$api/transactions", [
            'amount' => 4990,
            'client_name' => 'Ana Beatriz Rocha',
            'client_email' => 'ana@example.com',
            'client_doc' => '529.982.247-25',
            'external_id' => 'order-1',
        ], $token);
        self::call('POST', "$api/sandbox/transactions/order-1", ['outcome' => 'paid'], $token);
        $control = self::$troco['url'] . "/testing/accounts/$id";
        $received = self::call('GET', "$control/webhooks/next?type=transaction.paid&timeout_ms=60000");
        self::assertSame('order-1', $received['event']['transaction']['external_id']);
        self::assertSame(14_990, self::call('GET', "$api/account", null, $token)['balance']);
        self::assertSame([], self::call('GET', "$control/ledger")['violations']);
    }
}
