<?php

/**
 * A shop in PHP: an order, its Pix, and the webhook that says it was paid. Beside this file lies the client of your server,
 * /docs/clients/Troco.php. Run: composer require guzzlehttp/guzzle && php -S 127.0.0.1:4000 shop.php
 */

declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';
require __DIR__ . '/Troco.php';

$factory = new GuzzleHttp\Psr7\HttpFactory();
$http = new GuzzleHttp\Client(['timeout' => 30]);
$url = getenv('TROCO_URL') ?: 'http://localhost:3000';
$troco = new Troco\Client($url, fn () => getenv('TROCO_TOKEN'), $http, $factory, $factory);
$database = new PDO('sqlite:' . __DIR__ . '/orders.sqlite');
$database->exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_at TEXT)');

$routes = [
    'POST /orders' => 'createOrder',
    'GET /orders' => 'showOrder',
    'POST /hooks/troco' => 'receiveWebhook',
];
$route = $routes[$_SERVER['REQUEST_METHOD'] . ' ' . strtok($_SERVER['REQUEST_URI'], '?')] ?? null;
[$status, $answer] = $route ? $route($troco, $database) : [404, null];
http_response_code($status);
if ($answer) {
    header('Content-Type: application/json');
    echo json_encode($answer);
}

function createOrder(Troco\Client $troco, PDO $database): array
{
    ['name' => $name, 'email' => $email, 'document' => $document] = json_decode(file_get_contents('php://input'), true);
    $id = 'order-' . bin2hex(random_bytes(16));
    // In cents, from your prices: a browser would send any amount.
    $amount = 4990;
    $database->prepare('INSERT INTO orders (id, amount) VALUES (?, ?)')->execute([$id, $amount]);
    $buyer = ['client_name' => $name, 'client_email' => $email, 'client_doc' => $document];
    try {
        // With the order as key, it has one charge, however often the request is repeated.
        $troco->charges->create($buyer + ['amount' => $amount, 'external_id' => $id], key: $id);
        // The text of the QR code, and the address of a page that shows it.
        ['br_code' => $code, 'payment_url' => $page] = $troco->charges->get($id);
        return [201, ['id' => $id, 'br_code' => $code, 'payment_url' => $page]];
    } catch (Troco\TrocoException $error) {
        // What the buyer can correct, such as a digit of the CPF.
        return $error->status === 422 ? [422, ['errors' => $error->fields]] : throw $error;
    }
}

function showOrder(Troco\Client $troco, PDO $database): array
{
    $found = $database->prepare('SELECT id, amount, paid_at FROM orders WHERE id = ?');
    $found->execute([$_GET['id'] ?? '']);
    $order = $found->fetch(PDO::FETCH_ASSOC);
    return $order ? [200, $order] : [404, null];
}

function receiveWebhook(Troco\Client $troco, PDO $database): array
{
    try {
        $body = file_get_contents('php://input');
        $event = Troco\Webhook::verify(getallheaders(), $body, getenv('TROCO_WEBHOOK_SECRET'));
    } catch (Troco\TrocoException) {
        return [400, null];
    }
    if ($event['type'] === 'transaction.paid') {
        markPaid($event['transaction']['external_id'], $database);
    }
    return [204, null];
}

/** A webhook can arrive twice: only the first changes the row. */
function markPaid(string $id, PDO $database): void
{
    $pay = $database->prepare('UPDATE orders SET paid_at = datetime() WHERE id = ? AND paid_at IS NULL');
    $pay->execute([$id]);
    if ($pay->rowCount() === 1) {
        error_log("pack order $id");
    }
}
