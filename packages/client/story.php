<?php

/** A merchant's program on the client: prints what it saw as JSON, which the test compares between the languages. */

declare(strict_types=1);

use GuzzleHttp\Client as Http;
use GuzzleHttp\Psr7\HttpFactory;
use Troco\Client;
use Troco\FeedPosition;
use Troco\TrocoException;
use Troco\Webhook;

require '/usr/share/php/GuzzleHttp/autoload.php';
require __DIR__ . '/Troco.php';

$given = json_decode($argv[1], true);
$factory = new HttpFactory();
$http = new Http(['timeout' => 30]);
$troco = new Client($given['url'], fn () => $given['token'], $http, $factory, $factory);
$seen = [];

function codeOf(Closure $act): array
{
    try {
        $act();
        return ['code' => 'accepted'];
    } catch (TrocoException $error) {
        return ['code' => $error->errorCode, 'status' => $error->status, 'fields' => $error->fields];
    }
}

$order = [
    'amount' => 5000,
    'client_name' => 'Ana Beatriz Rocha',
    'client_email' => 'ana@example.com',
    'client_doc' => '529.982.247-25',
    'external_id' => 'order-1',
];
$before = $troco->account()['balance'];
$charge = $troco->charges->create($order, key: 'order-1');
$again = $troco->charges->create($order, key: 'order-1');
$seen['is_same'] = $charge['transaction_id'] === $again['transaction_id'];
$create = fn (array $changes, string $key) => codeOf(fn () => $troco->charges->create($changes + $order, $key))['code'];
$seen['float'] = $create(['amount' => 50.5], 'order-2');
$seen['no_key'] = $create([], '');
$seen['other_body'] = $create(['amount' => 6000], 'order-1');
$seen['unpaid'] = codeOf(fn () => $troco->refunds->createFull('order-1', key: 'refund-0'))['code'];
$troco->sandbox->charge('order-1', 'paid');
$seen['paid'] = $troco->charges->waitUntilPaid('order-1', seconds: 10)['status'];
$troco->refunds->create('order-1', 1000, 'refund-1', 'out of stock');
$seen['full'] = $troco->refunds->createFull('order-1', key: 'refund-2')['amount'];
$refunds = iterator_to_array($troco->refunds->ofCharge('order-1', ['limit' => 1]), false);
$seen['refunds'] = array_column($refunds, 'amount');
$withdraw = fn (int $amount, string $key) => $troco->withdrawals->create(['amount' => $amount, 'pix_key' => 'ana@example.com'], $key);
$seen['too_much'] = codeOf(fn () => $withdraw(10 ** 11, 'out-0'));
foreach ([2, 3] as $number) {
    $troco->charges->create(['external_id' => "order-$number"] + $order, "order-$number");
}
$listed = iterator_to_array($troco->charges->list(['limit' => 1, 'status' => ['pending', 'paid']]), false);
$isOrder = fn (string $reference) => str_starts_with($reference, 'order-');
$seen['listed'] = array_values(array_filter(array_column($listed, 'external_id'), $isOrder));
$troco->sandbox->charge('order-2', 'paid');
$withdrawal = $withdraw(1500, 'out-1');
$seen['approved'] = $troco->sandbox->withdrawal($withdrawal['id'], 'approved')['status'];
$expired = $troco->sandbox->charge('order-3', 'expired')['id'];
$seen['expired'] = codeOf(fn () => $troco->charges->waitUntilPaid($expired, seconds: 5))['code'];
$seen['missing'] = codeOf(fn () => $troco->charges->get('a/b'))['code'];
$seen['dots'] = array_map(fn (string $id) => codeOf(fn () => $troco->charges->cancel($id))['code'], ['.', '..']);

$types = [];
$gaps = [];
$troco->events->follow(
    fn () => new FeedPosition(0, '0123456789abcdef'),
    function (array $events, FeedPosition $position, $gap) use (&$types, &$gaps): void {
        $types = [...$types, ...array_column($events, 'type')];
        $gaps = [...$gaps, ...($gap ? [$gap->reason] : [])];
    },
    pause: 0.05,
    isEnded: function () use (&$types): bool {
        return in_array('transaction.expired', $types);
    },
);
$seen['gaps'] = $gaps;
sort($types);
$seen['types'] = array_values(array_unique($types));
$webhook = $given['webhook'];
$verify = fn (string $body) => Webhook::verify($webhook['headers'], $body, [$webhook['old'], $webhook['secret']]);
$seen['verified'] = $verify($webhook['body'])['type'];
$seen['tampered'] = codeOf(fn () => $verify(str_replace('paid', 'lost', $webhook['body'])))['code'];
$verifyWith = fn (array $headers, string $secret) => codeOf(fn () => Webhook::verify($headers, $webhook['body'], $secret))['code'];
$seen['no_secret'] = $verifyWith($webhook['forged'], 'whsec_');
$late = ['webhook-timestamp' => str_repeat('9', 5000)] + $webhook['headers'];
$seen['long_time'] = $verifyWith($late, $webhook['secret']);
$seen['gained'] = $troco->account()['balance'] - $before;
echo json_encode($seen);
